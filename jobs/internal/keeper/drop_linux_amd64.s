#include "textflag.h"

// drop is the handler, which the kernel calls as C would.
TEXT drop<>(SB),NOSPLIT|NOFRAME,$0-0
	RET

// leave is where the handler returns to: rt_sigreturn(2).
TEXT leave<>(SB),NOSPLIT|NOFRAME,$0-0
	MOVQ	$15, AX
	SYSCALL
	INT	$3

// func dropPC() uintptr
TEXT ·dropPC(SB),NOSPLIT,$0-8
	MOVQ	$drop<>(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// func leavePC() uintptr
TEXT ·leavePC(SB),NOSPLIT,$0-8
	MOVQ	$leave<>(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
