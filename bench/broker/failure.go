package broker

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Failure keeps the first error of many promises.
type Failure struct {
	once sync.Once
	err  atomic.Pointer[error]
}

// Note is a promise.
func (f *Failure) Note(_ *kgo.Record, err error) {
	if err != nil {
		f.once.Do(func() { f.err.Store(&err) })
	}
}

// Get returns the first error, or nil.
func (f *Failure) Get() error {
	if err := f.err.Load(); err != nil {
		return fmt.Errorf("sender: %w", *err)
	}
	return nil
}
