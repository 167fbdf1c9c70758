
; Barriers that count threads: for each number of a barrier a word of which the lower half counts who has arrived, and the
; upper half the times that all had; a word, of which only the first barrier's is used, for how many lanes have ended; and
; two sums, of even times and of odd ones.
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

; A warp of the block has ended.
define internal void @cushim.barriers.end() #3 {
  %leads = call i1 @cushim.wave.leads()
  br i1 %leads, label %note, label %end
note:
  %ended = getelementptr i8, ptr addrspace(3) @cushim.barriers, i32 4
  %before = atomicrmw add ptr addrspace(3) %ended, i32 32 syncscope("workgroup") release
  br label %end
end:
  ret void
}

; Lanes of a warp come, which count for `more` threads of `count`, and bring `value` to a sum; they wait, or go on. All get
; the sum of those that came. If `all` of the block's threads are asked for, warps that have ended count, too.
define internal i32 @cushim.barrier(i32 %number, i32 %count, i1 %all, i32 %more, i1 %waits, i32 %value) #2 {
entry:
  fence syncscope("workgroup") release
  %n = and i32 %number, 15
  %offset = shl i32 %n, 4
  %word = getelementptr i8, ptr addrspace(3) @cushim.barriers, i32 %offset
  %sums = getelementptr i8, ptr addrspace(3) %word, i32 8
  %ended = getelementptr i8, ptr addrspace(3) @cushim.barriers, i32 4
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
  %gone = load atomic i32, ptr addrspace(3) %ended syncscope("workgroup") monotonic, align 4
  %counted = select i1 %all, i32 %gone, i32 0
  %left = call i32 @llvm.usub.sat.i32(i32 %count, i32 %counted)
  %full = icmp uge i32 %now, %left
  %later = add i32 %time, 1
  %beyond = sub i32 %now, %count
  %rest = select i1 %all, i32 0, i32 %beyond
  %low = select i1 %full, i32 %rest, i32 %now
  %high = select i1 %full, i32 %later, i32 %time
  %upper = shl i32 %high, 16
  %new = or i32 %upper, %low
  br i1 %full, label %clear, label %try
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
  br i1 %over, label %added, label %ask
ask:
  br i1 %all, label %sum_up, label %pause
sum_up:
  ; Those that have not come may have ended meanwhile. Of the warps that see it one begins the next time: the one that
  ; stores a number of lanes that cannot come.
  %came_so_far = and i32 %seen, 65535
  %gone_now = load atomic i32, ptr addrspace(3) %ended syncscope("workgroup") acquire, align 4
  %both = add i32 %came_so_far, %gone_now
  %enough = icmp uge i32 %both, %count
  %claimed = icmp eq i32 %came_so_far, 65535
  %free = xor i1 %claimed, true
  %try_claim = and i1 %enough, %free
  br i1 %try_claim, label %claim, label %pause
claim:
  %mark = or i32 %seen, 65535
  %claim_pair = cmpxchg ptr addrspace(3) %word, i32 %seen, i32 %mark syncscope("workgroup") acq_rel monotonic
  %won = extractvalue { i32, i1 } %claim_pair, 1
  br i1 %won, label %begin, label %look
begin:
  %time_after = add i32 %time, 1
  %parity = and i32 %time_after, 1
  %place_after = shl i32 %parity, 2
  %sum_after = getelementptr i8, ptr addrspace(3) %sums, i32 %place_after
  store atomic i32 0, ptr addrspace(3) %sum_after syncscope("workgroup") monotonic, align 4
  %fresh = shl i32 %time_after, 16
  store atomic i32 %fresh, ptr addrspace(3) %word syncscope("workgroup") release, align 4
  br label %added
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
