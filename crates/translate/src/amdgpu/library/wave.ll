
; What lanes of a wave are.

; The first of the lanes that are here.
define internal i1 @cushim.wave.leads() #3 {
  %here = call i64 @cushim.wave.ballot(i1 true)
  %number = call i64 @llvm.cttz.i64(i64 %here, i1 true)
  %first = trunc i64 %number to i32
  %lane = call i32 @cushim.wave.lane()
  %leads = icmp eq i32 %lane, %first
  ret i1 %leads
}

; Whether a condition holds for some lane that is here.
define internal i1 @cushim.wave.any(i1 %c) #3 {
  %lanes = call i64 @cushim.wave.ballot(i1 %c)
  %some = icmp ne i64 %lanes, 0
  ret i1 %some
}
