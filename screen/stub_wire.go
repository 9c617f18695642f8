package screen

// Skim is a stub.
func (t *Terminal) Skim(p []byte) {}

// Lost is a stub.
func (t *Terminal) Lost(m Modes) {}

// Revision is a stub.
func (t *Terminal) Revision() uint64 { return 0 }

// PNG is a stub.
func (s *Snapshot) PNG() ([]byte, error) { return nil, nil }

// AppendANSI is a stub.
func (s *Snapshot) AppendANSI(b []byte, history bool) []byte { return b }
