package jobs

// A delivered is a message as a turn delivers it: to the part that handles it.
type delivered interface {
	message
	deliver(j *Job)
}

func (m writeMsg) deliver(j *Job)          { j.input.onWrite(m) }
func (m waitMsg) deliver(j *Job)           { j.waits.onWait(m) }
func (m runMsg) deliver(j *Job)            { j.runs.onRun(m) }
func (m readMsg) deliver(j *Job)           { j.reads.onRead(m) }
func (m killMsg) deliver(j *Job)           { j.kills.onKill(m) }
func (m signalMsg) deliver(j *Job)         { j.kills.onSignal(m) }
func (m resizeMsg) deliver(j *Job)         { j.display.onResize(m) }
func (m watchMsg) deliver(j *Job)          { j.waits.onWatch(m) }
func (m unwatchMsg) deliver(j *Job)        { j.waits.onUnwatch(m) }
func (m removeMsg) deliver(j *Job)         { j.onRemove(m) }
func (m infoMsg) deliver(j *Job)           { j.changes.onInfo(m) }
func (m execMsg) deliver(j *Job)           { j.shell.onExec(m) }
func (m historyMsg) deliver(j *Job)        { j.shell.onHistory(m) }
func (m changeVariableMsg) deliver(j *Job) { j.shell.onChangeVariable(m) }
func (m variablesMsg) deliver(j *Job)      { j.shell.onVariables(m) }
func (m cancelMsg) deliver(j *Job)         { j.onCancel(m.tok) }
func (m shutdownMsg) deliver(j *Job)       { j.ending.onShutdown(m.grace) }
func (m quitMsg) deliver(j *Job) {
	if m.discard {
		j.actor.leaveWith(func() { j.files.discard(true, j.files.logDiscard) })
	} else {
		j.actor.quit.Store(true)
	}
}
func (m fileFailedMsg) deliver(j *Job)    { j.files.onFileFailed(m.err) }
func (filedMsg) deliver(j *Job)           { j.files.filed = true }
func (m readDoneMsg) deliver(j *Job)      { j.reads.onReadDone(m) }
func (m foregroundMsg) deliver(j *Job)    { j.changes.onForeground(m) }
func (m livingMsg) deliver(j *Job)        { j.changes.onLiving(m) }
func (m confirmedMsg) deliver(j *Job)     { j.asking.onConfirmed(m) }
func (m writeAnsweredMsg) deliver(j *Job) { j.asking.onWriteAnswered(m) }
func (m subscribeMsg) deliver(j *Job)     { j.onSubscribe(m) }
func (m interruptDone) deliver(j *Job)    { j.shell.onInterruptDone(m) }
func (m hitsMsg) deliver(j *Job) {
	j.waits.onFound(m.hits)
	m.taken <- struct{}{}
}
func (m syncedMsg) deliver(j *Job)   { j.waits.onSynced(m.tok, m.partly) }
func (m seenMsg) deliver(j *Job)     { j.display.onSeen(m) }
func (m portsMsg) deliver(j *Job)    { j.waits.onPorts(m) }
func (m answeredMsg) deliver(j *Job) { j.display.onAnswered(m) }
func (m targetMsg) deliver(j *Job)   { j.onTarget(m) }
func (m imageMsg) deliver(j *Job)    { j.shell.onImage(m) }
func (m screenMsg) deliver(j *Job)   { j.display.onScreen(m) }
func (m shownMsg) deliver(j *Job)    { j.display.onShown(m) }
func (m lookedMsg) deliver(j *Job)   { j.waiting.onLooked(m) }
