
; Barriers that count threads: for each number of a barrier a word of which the lower half counts who has arrived, and the
; upper half the times that all had; a word that is not used; and two sums, of even times and of odd ones.
@cushim.barriers = internal addrspace(3) global [64 x i32] undef, align 16

; Before anybody comes: nobody has. The first work-item does it, and all wait.
define internal void @cushim.barriers.begin() #3 {
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %first = icmp eq i32 %item, 0
  br i1 %first, label %clear, label %end
clear:
  store [64 x i32] zeroinitializer, ptr addrspace(3) @cushim.barriers, align 16
  br label %end
end:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  ret void
}

; Lanes of a warp come, which count for `more` threads of `count`, and bring `value` to a sum; they wait, or go on. All get
; the sum of those that came.
define internal i32 @cushim.barrier(i32 %number, i32 %count, i32 %more, i1 %waits, i32 %value) #2 {
entry:
  fence syncscope("workgroup") release
  %n = and i32 %number, 15
  %offset = shl i32 %n, 4
  %word = getelementptr i8, ptr addrspace(3) @cushim.barriers, i32 %offset
  %sums = getelementptr i8, ptr addrspace(3) %word, i32 8
  %leads = call i1 @cushim.wave.leads()
  br i1 %leads, label %come, label %met
come:
  %first = load atomic i32, ptr addrspace(3) %word syncscope("workgroup") monotonic, align 4
  %times = lshr i32 %first, 16
  %odd = and i32 %times, 1
  %by = shl i32 %odd, 2
  %sum = getelementptr i8, ptr addrspace(3) %sums, i32 %by
  %before = atomicrmw add ptr addrspace(3) %sum, i32 %value syncscope("workgroup") monotonic
  br label %again
again:
  %old = phi i32 [ %first, %come ], [ %found, %try ]
  %arrived = and i32 %old, 65535
  %time = lshr i32 %old, 16
  %now = add i32 %arrived, %more
  %all = icmp uge i32 %now, %count
  %later = add i32 %time, 1
  %rest = sub i32 %now, %count
  %low = select i1 %all, i32 %rest, i32 %now
  %high = select i1 %all, i32 %later, i32 %time
  %upper = shl i32 %high, 16
  %new = or i32 %upper, %low
  br i1 %all, label %clear, label %try
clear:
  ; The sum of the next time, before anybody can come to it.
  %other = and i32 %later, 1
  %far = shl i32 %other, 2
  %next = getelementptr i8, ptr addrspace(3) %sums, i32 %far
  store atomic i32 0, ptr addrspace(3) %next syncscope("workgroup") monotonic, align 4
  br label %try
try:
  %exchanged = cmpxchg ptr addrspace(3) %word, i32 %old, i32 %new syncscope("workgroup") acq_rel monotonic
  %found = extractvalue { i32, i1 } %exchanged, 0
  %done = extractvalue { i32, i1 } %exchanged, 1
  br i1 %done, label %came, label %again
came:
  br i1 %waits, label %look, label %added
look:
  %seen = load atomic i32, ptr addrspace(3) %word syncscope("workgroup") acquire, align 4
  %then = lshr i32 %seen, 16
  %over = icmp ne i32 %then, %time
  br i1 %over, label %added, label %pause
pause:
  call void @llvm.amdgcn.s.sleep(i32 1)
  br label %look
added:
  %total = load atomic i32, ptr addrspace(3) %sum syncscope("workgroup") monotonic, align 4
  br label %met
met:
  %own = phi i32 [ 0, %entry ], [ %total, %added ]
  fence syncscope("workgroup") acquire
  %here = call i64 @cushim.wave.ballot(i1 true)
  %lane = call i64 @llvm.cttz.i64(i64 %here, i1 true)
  %leader = trunc i64 %lane to i32
  %place = shl i32 %leader, 2
  %result = call i32 @llvm.amdgcn.ds.bpermute(i32 %place, i32 %own)
  ret i32 %result
}
