#include "textflag.h"

// drop is the handler, which the kernel calls as C would.
TEXT drop<>(SB),NOSPLIT|NOFRAME,$0-0
	RET

// leave is where the handler returns to: rt_sigreturn(2).
TEXT leave<>(SB),NOSPLIT|NOFRAME,$0-0
	MOVD	$139, R8
	SVC
	BRK

// func dropPC() uintptr
TEXT ·dropPC(SB),NOSPLIT,$0-8
	MOVD	$drop<>(SB), R0
	MOVD	R0, ret+0(FP)
	RET

// func leavePC() uintptr
TEXT ·leavePC(SB),NOSPLIT,$0-8
	MOVD	$leave<>(SB), R0
	MOVD	R0, ret+0(FP)
	RET
