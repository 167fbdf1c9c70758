
; The device's side of the host call buffer: LLVM's RPC protocol (libc/shared/rpc.h), a port for a wave at a time.
; The client: ports u32 @0, inbox @8, outbox @16, headers @24, packets @32 (addresses), locks u32[128] @40.
; All of a wave's lanes that call are together throughout: what decides where they go is a ballot.

; The client of a launch. Without one nobody answers.
define internal ptr addrspace(1) @cushim.rpc.client(ptr addrspace(4) %launch) #3 {
  %at = getelementptr i8, ptr addrspace(4) %launch, i64 32
  %address = load i64, ptr addrspace(4) %at, align 8
  %none = icmp eq i64 %address, 0
  br i1 %none, label %nobody, label %there
nobody:
  call void @llvm.trap()
  unreachable
there:
  %client = inttoptr i64 %address to ptr addrspace(1)
  ret ptr addrspace(1) %client
}

; Field `field` of the client, which is an address.
define internal ptr addrspace(1) @cushim.rpc.field(ptr addrspace(1) %client, i64 %field) #3 {
  %at = getelementptr i8, ptr addrspace(1) %client, i64 %field
  %there = load ptr addrspace(1), ptr addrspace(1) %at, align 8
  ret ptr addrspace(1) %there
}

; The word of a port at the address in field 8 (inbox) or 16 (outbox).
define internal ptr addrspace(1) @cushim.rpc.box(ptr addrspace(1) %client, i64 %field, i32 %port) #3 {
  %boxes = call ptr addrspace(1) @cushim.rpc.field(ptr addrspace(1) %client, i64 %field)
  %number = zext i32 %port to i64
  %by = shl i64 %number, 2
  %box = getelementptr i8, ptr addrspace(1) %boxes, i64 %by
  ret ptr addrspace(1) %box
}

; Whether it is the device's turn at a port.
define internal i1 @cushim.rpc.owned(ptr addrspace(1) %client, i32 %port) #3 {
  %inbox = call ptr addrspace(1) @cushim.rpc.box(ptr addrspace(1) %client, i64 8, i32 %port)
  %outbox = call ptr addrspace(1) @cushim.rpc.box(ptr addrspace(1) %client, i64 16, i32 %port)
  %in = load atomic i32, ptr addrspace(1) %inbox monotonic, align 4
  %out = load atomic i32, ptr addrspace(1) %outbox monotonic, align 4
  %owned = icmp eq i32 %in, %out
  ret i1 %owned
}

; The packet of this lane at a port.
define internal ptr addrspace(1) @cushim.rpc.packet(ptr addrspace(1) %client, i32 %port) #3 {
  %packets = call ptr addrspace(1) @cushim.rpc.field(ptr addrspace(1) %client, i64 32)
  %lane = call i32 @cushim.wave.lane()
  %first = mul i32 %port, $LANES
  %number = add i32 %first, %lane
  %wide = zext i32 %number to i64
  %by = shl i64 %wide, 6
  %packet = getelementptr i8, ptr addrspace(1) %packets, i64 %by
  ret ptr addrspace(1) %packet
}

; Takes a port for these lanes and this opcode.
define internal i32 @cushim.rpc.open(ptr addrspace(1) %client, i32 %opcode) #2 {
entry:
  %leads = call i1 @cushim.wave.leads()
  %here = call i64 @cushim.wave.ballot(i1 true)
  %ports = load i32, ptr addrspace(1) %client, align 8
  br label %try
try:
  %port = phi i32 [ 0, %entry ], [ %after, %next ]
  %word = lshr i32 %port, 5
  %words = zext i32 %word to i64
  %bytes = shl i64 %words, 2
  %by = add i64 %bytes, 40
  %lock = getelementptr i8, ptr addrspace(1) %client, i64 %by
  %shift = and i32 %port, 31
  %bit = shl i32 1, %shift
  br i1 %leads, label %take, label %taken
take:
  %old = atomicrmw or ptr addrspace(1) %lock, i32 %bit syncscope("agent") acquire
  %held = and i32 %old, %bit
  %free = icmp eq i32 %held, 0
  br i1 %free, label %look, label %taken
look:
  %owned = call i1 @cushim.rpc.owned(ptr addrspace(1) %client, i32 %port)
  br i1 %owned, label %got, label %undo
undo:
  %others = xor i32 %bit, -1
  %before = atomicrmw and ptr addrspace(1) %lock, i32 %others syncscope("agent") release
  br label %taken
got:
  %headers = call ptr addrspace(1) @cushim.rpc.field(ptr addrspace(1) %client, i64 24)
  %number = zext i32 %port to i64
  %offset = shl i64 %number, 4
  %header = getelementptr i8, ptr addrspace(1) %headers, i64 %offset
  store i64 %here, ptr addrspace(1) %header, align 8
  %second = getelementptr i8, ptr addrspace(1) %header, i64 8
  store i32 %opcode, ptr addrspace(1) %second, align 8
  br label %taken
taken:
  %mine = phi i1 [ false, %try ], [ false, %take ], [ false, %undo ], [ true, %got ]
  %done = call i1 @cushim.wave.any(i1 %mine)
  br i1 %done, label %end, label %next
next:
  call void @llvm.amdgcn.s.sleep(i32 1)
  %up = add i32 %port, 1
  %wraps = icmp uge i32 %up, %ports
  %after = select i1 %wraps, i32 0, i32 %up
  br label %try
end:
  ret i32 %port
}

; Gives a port back.
define internal void @cushim.rpc.close(ptr addrspace(1) %client, i32 %port) #2 {
entry:
  %leads = call i1 @cushim.wave.leads()
  br i1 %leads, label %give, label %end
give:
  %word = lshr i32 %port, 5
  %words = zext i32 %word to i64
  %bytes = shl i64 %words, 2
  %by = add i64 %bytes, 40
  %lock = getelementptr i8, ptr addrspace(1) %client, i64 %by
  %shift = and i32 %port, 31
  %bit = shl i32 1, %shift
  %others = xor i32 %bit, -1
  %before = atomicrmw and ptr addrspace(1) %lock, i32 %others syncscope("agent") release
  br label %end
end:
  ret void
}

; Waits until it is the device's turn.
define internal void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port) #2 {
entry:
  br label %look
look:
  %owned = call i1 @cushim.rpc.owned(ptr addrspace(1) %client, i32 %port)
  %all = call i1 @cushim.wave.any(i1 %owned)
  br i1 %all, label %end, label %pause
pause:
  call void @llvm.amdgcn.s.sleep(i32 8)
  br label %look
end:
  fence acquire
  ret void
}

; Makes it the host's turn, who sees what all lanes wrote.
define internal void @cushim.rpc.hand(ptr addrspace(1) %client, i32 %port) #2 {
entry:
  fence release
  %leads = call i1 @cushim.wave.leads()
  br i1 %leads, label %turn, label %end
turn:
  %outbox = call ptr addrspace(1) @cushim.rpc.box(ptr addrspace(1) %client, i64 16, i32 %port)
  %old = load atomic i32, ptr addrspace(1) %outbox monotonic, align 4
  %new = xor i32 %old, 1
  store atomic i32 %new, ptr addrspace(1) %outbox release, align 4
  br label %end
end:
  ret void
}

; Copies bytes from a generic address.
define internal void @cushim.rpc.copy(ptr addrspace(1) %to, i64 %from, i64 %bytes) #2 {
entry:
  %source = inttoptr i64 %from to ptr
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %next, %one ]
  %left = icmp ult i64 %n, %bytes
  br i1 %left, label %one, label %end
one:
  %a = getelementptr i8, ptr %source, i64 %n
  %v = load i8, ptr %a, align 1
  %b = getelementptr i8, ptr addrspace(1) %to, i64 %n
  store i8 %v, ptr addrspace(1) %b, align 1
  %next = add i64 %n, 1
  br label %look
end:
  ret void
}

; Bytes of a string with its NUL; of none, 0.
define internal i64 @cushim.rpc.length(i64 %at) #2 {
entry:
  %string = inttoptr i64 %at to ptr
  %none = icmp eq i64 %at, 0
  br i1 %none, label %nothing, label %look
look:
  %n = phi i64 [ 0, %entry ], [ %next, %look ]
  %a = getelementptr i8, ptr %string, i64 %n
  %v = load i8, ptr %a, align 1
  %next = add i64 %n, 1
  %nul = icmp eq i8 %v, 0
  %long = icmp uge i64 %next, 1048576
  %end = or i1 %nul, %long
  br i1 %end, label %found, label %look
found:
  ret i64 %next
nothing:
  ret i64 0
}

; Sends bytes of any number, which differs from lane to lane.
define internal void @cushim.rpc.message(ptr addrspace(1) %client, i32 %port, i64 %from, i64 %bytes) #2 {
entry:
  call void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port)
  %packet = call ptr addrspace(1) @cushim.rpc.packet(ptr addrspace(1) %client, i32 %port)
  store i64 %bytes, ptr addrspace(1) %packet, align 8
  %body = getelementptr i8, ptr addrspace(1) %packet, i64 8
  %few = call i64 @llvm.umin.i64(i64 %bytes, i64 56)
  call void @cushim.rpc.copy(ptr addrspace(1) %body, i64 %from, i64 %few)
  call void @cushim.rpc.hand(ptr addrspace(1) %client, i32 %port)
  br label %look
look:
  %sent = phi i64 [ 56, %entry ], [ %next, %more ]
  %left = icmp ugt i64 %bytes, %sent
  %some = call i1 @cushim.wave.any(i1 %left)
  br i1 %some, label %more, label %end
more:
  call void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port)
  %rest = call i64 @llvm.usub.sat.i64(i64 %bytes, i64 %sent)
  %part = call i64 @llvm.umin.i64(i64 %rest, i64 64)
  %at = add i64 %from, %sent
  call void @cushim.rpc.copy(ptr addrspace(1) %packet, i64 %at, i64 %part)
  call void @cushim.rpc.hand(ptr addrspace(1) %client, i32 %port)
  %next = add i64 %sent, 64
  br label %look
end:
  ret void
}

; Sends a string with its NUL.
define internal void @cushim.rpc.string(ptr addrspace(1) %client, i32 %port, i64 %at) #2 {
  %bytes = call i64 @cushim.rpc.length(i64 %at)
  call void @cushim.rpc.message(ptr addrspace(1) %client, i32 %port, i64 %at, i64 %bytes)
  ret void
}

; vprintf: the format, as many bytes of arguments as the host says, each string that it asks for.
define internal i32 @cushim.print(ptr addrspace(4) %launch, i64 %format, i64 %arguments) #2 {
entry:
  %client = call ptr addrspace(1) @cushim.rpc.client(ptr addrspace(4) %launch)
  %port = call i32 @cushim.rpc.open(ptr addrspace(1) %client, i32 $PRINT)
  call void @cushim.rpc.string(ptr addrspace(1) %client, i32 %port, i64 %format)
  call void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port)
  %packet = call ptr addrspace(1) @cushim.rpc.packet(ptr addrspace(1) %client, i32 %port)
  %bytes = load i64, ptr addrspace(1) %packet, align 8
  call void @cushim.rpc.message(ptr addrspace(1) %client, i32 %port, i64 %arguments, i64 %bytes)
  %second = getelementptr i8, ptr addrspace(1) %packet, i64 8
  br label %answer
answer:
  call void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port)
  %wanted = load i64, ptr addrspace(1) %second, align 8
  %some = icmp ne i64 %wanted, 0
  %more = call i1 @cushim.wave.any(i1 %some)
  br i1 %more, label %string, label %end
string:
  call void @cushim.rpc.string(ptr addrspace(1) %client, i32 %port, i64 %wanted)
  br label %answer
end:
  %count = load i64, ptr addrspace(1) %packet, align 8
  call void @cushim.rpc.close(ptr addrspace(1) %client, i32 %port)
  %result = trunc i64 %count to i32
  ret i32 %result
}

; A word to the host, and one back.
define internal i64 @cushim.rpc.ask(ptr addrspace(4) %launch, i32 %opcode, i64 %value) #2 {
entry:
  %client = call ptr addrspace(1) @cushim.rpc.client(ptr addrspace(4) %launch)
  %port = call i32 @cushim.rpc.open(ptr addrspace(1) %client, i32 %opcode)
  call void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port)
  %packet = call ptr addrspace(1) @cushim.rpc.packet(ptr addrspace(1) %client, i32 %port)
  store i64 %value, ptr addrspace(1) %packet, align 8
  call void @cushim.rpc.hand(ptr addrspace(1) %client, i32 %port)
  call void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port)
  %answer = load i64, ptr addrspace(1) %packet, align 8
  call void @cushim.rpc.close(ptr addrspace(1) %client, i32 %port)
  ret i64 %answer
}

; __assertfail: the line, block and thread, then three strings; the host has shown them when this comes back.
define internal void @cushim.assert(ptr addrspace(4) %launch, i64 %message, i64 %file, i32 %line, i64 %function, i32 %bx, i32 %by, i32 %bz, i32 %tx, i32 %ty, i32 %tz) #2 {
entry:
  %client = call ptr addrspace(1) @cushim.rpc.client(ptr addrspace(4) %launch)
  %port = call i32 @cushim.rpc.open(ptr addrspace(1) %client, i32 $ASSERT)
  call void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port)
  %packet = call ptr addrspace(1) @cushim.rpc.packet(ptr addrspace(1) %client, i32 %port)
  store i32 %line, ptr addrspace(1) %packet, align 8
  %p1 = getelementptr i8, ptr addrspace(1) %packet, i64 4
  store i32 %bx, ptr addrspace(1) %p1, align 4
  %p2 = getelementptr i8, ptr addrspace(1) %packet, i64 8
  store i32 %by, ptr addrspace(1) %p2, align 4
  %p3 = getelementptr i8, ptr addrspace(1) %packet, i64 12
  store i32 %bz, ptr addrspace(1) %p3, align 4
  %p4 = getelementptr i8, ptr addrspace(1) %packet, i64 16
  store i32 %tx, ptr addrspace(1) %p4, align 4
  %p5 = getelementptr i8, ptr addrspace(1) %packet, i64 20
  store i32 %ty, ptr addrspace(1) %p5, align 4
  %p6 = getelementptr i8, ptr addrspace(1) %packet, i64 24
  store i32 %tz, ptr addrspace(1) %p6, align 4
  call void @cushim.rpc.hand(ptr addrspace(1) %client, i32 %port)
  call void @cushim.rpc.string(ptr addrspace(1) %client, i32 %port, i64 %message)
  call void @cushim.rpc.string(ptr addrspace(1) %client, i32 %port, i64 %file)
  call void @cushim.rpc.string(ptr addrspace(1) %client, i32 %port, i64 %function)
  call void @cushim.rpc.wait(ptr addrspace(1) %client, i32 %port)
  call void @cushim.rpc.close(ptr addrspace(1) %client, i32 %port)
  ret void
}
