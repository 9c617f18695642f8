package jobs

// A delivered is a message as a turn delivers it: to the part that handles it.
type delivered interface {
	message
	deliver(a *actor)
}

func (m writeMsg) deliver(a *actor)          { a.input.onWrite(m) }
func (m waitMsg) deliver(a *actor)           { a.waits.onWait(m) }
func (m runMsg) deliver(a *actor)            { a.runs.onRun(m) }
func (m readMsg) deliver(a *actor)           { a.reads.onRead(m) }
func (m killMsg) deliver(a *actor)           { a.kills.onKill(m) }
func (m signalMsg) deliver(a *actor)         { a.kills.onSignal(m) }
func (m resizeMsg) deliver(a *actor)         { a.display.onResize(m) }
func (m watchMsg) deliver(a *actor)          { a.waits.onWatch(m) }
func (m unwatchMsg) deliver(a *actor)        { a.waits.onUnwatch(m) }
func (m removeMsg) deliver(a *actor)         { a.onRemove(m) }
func (m endAtMsg) deliver(a *actor)          { a.lease.onEndAt(m) }
func (m setOwnerMsg) deliver(a *actor)       { a.lease.onSetOwner(m) }
func (m setLeaseMsg) deliver(a *actor)       { a.lease.onSetLease(m) }
func (m takeInputMsg) deliver(a *actor)      { a.lease.onTakeInput(m) }
func (m giveInputMsg) deliver(a *actor)      { a.lease.onGiveInput(m) }
func (m leaveInputMsg) deliver(a *actor)     { a.lease.onLeaveInput(m) }
func (m infoMsg) deliver(a *actor)           { a.changes.onInfo(m) }
func (m execMsg) deliver(a *actor)           { a.shell.onExec(m) }
func (m historyMsg) deliver(a *actor)        { a.shell.onHistory(m) }
func (m changeVariableMsg) deliver(a *actor) { a.shell.onChangeVariable(m) }
func (m variablesMsg) deliver(a *actor)      { a.shell.onVariables(m) }
func (m cancelMsg) deliver(a *actor)         { a.onCancel(m.tok) }
func (m shutdownMsg) deliver(a *actor)       { a.ending.onShutdown(m.grace) }
func (m quitMsg) deliver(a *actor) {
	if m.discard {
		a.leaveWith(func() { a.files.discard(true, a.files.logDiscard) })
	} else {
		a.quit.Store(true)
	}
}
func (m fileFailedMsg) deliver(a *actor)    { a.files.onFileFailed(m.err) }
func (filedMsg) deliver(a *actor)           { a.files.filed = true }
func (m readDoneMsg) deliver(a *actor)      { a.reads.onReadDone(m) }
func (m foregroundMsg) deliver(a *actor)    { a.changes.onForeground(m) }
func (m livingMsg) deliver(a *actor)        { a.changes.onLiving(m) }
func (m confirmedMsg) deliver(a *actor)     { a.asking.onConfirmed(m) }
func (m writeAnsweredMsg) deliver(a *actor) { a.asking.onWriteAnswered(m) }
func (m subscribeMsg) deliver(a *actor)     { a.onSubscribe(m) }
func (m interruptDone) deliver(a *actor)    { a.shell.onInterruptDone(m) }
func (m hitsMsg) deliver(a *actor) {
	a.waits.onFound(m.hits)
	m.taken <- struct{}{}
}
func (m syncedMsg) deliver(a *actor)   { a.waits.onSynced(m.tok, m.partly) }
func (m seenMsg) deliver(a *actor)     { a.display.onSeen(m) }
func (m portsMsg) deliver(a *actor)    { a.waits.onPorts(m) }
func (m answeredMsg) deliver(a *actor) { a.display.onAnswered(m) }
func (m targetMsg) deliver(a *actor)   { a.onTarget(m) }
func (m imageMsg) deliver(a *actor)    { a.shell.onImage(m) }
func (m screenMsg) deliver(a *actor)   { a.display.onScreen(m) }
func (m shownMsg) deliver(a *actor)    { a.display.onShown(m) }
func (m lookedMsg) deliver(a *actor)   { a.waiting.onLooked(m) }
