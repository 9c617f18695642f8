package screen

import "errors"

// PNG is a stub.
func (s *Snapshot) PNG() ([]byte, error) { return nil, errors.New("there are no pictures yet") }
