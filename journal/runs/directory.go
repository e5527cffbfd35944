package runs

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
)

// MaxRuns bounds the runs of a directory.
const MaxRuns = 4096

const (
	magic = "LR"

	// The layout of a directory: the end of each field of fixed size.
	endDirVersions = len(magic) + 2
	endDirSum      = endDirVersions + 4
	endDirOwner    = endDirSum + 8
	endDirWriter   = endDirOwner + 8

	// minRun is the fewest bytes of a run: a byte for each of nine fields, and steps.
	minRun = 9 + sixteenths - 1
)

// Directory lists the runs of a partition with something unfinished.
type Directory struct {
	Writer uint64 // unique to one assignment of the partition
	// End is the offset up to which the directory speaks: every unfinished copy below it
	// is in one of Runs. Runs may reach beyond it.
	End int64
	// LeaderEpoch is the highest leader epoch of the partition that the writer knew, from 0
	// on. The directory speaks only while the log of the leader epochs up to it reaches up to
	// End. Its reader has to ask the broker where that log ends.
	LeaderEpoch int32
	Runs        []Run // by First, ascending; at most MaxRuns
}

// AppendDirectory appends the value of a directory's record, which has a null key and no
// headers. The error is a directory that ReadDirectory would refuse; dst is unchanged
// then. 4,096 usual runs take some 160 KiB.
func AppendDirectory(dst []byte, id Identity, d *Directory) ([]byte, error) {
	if d.End < 0 || len(d.Runs) > MaxRuns {
		return dst, fmt.Errorf("a directory of %d runs up to offset %d, want at most %d runs and an offset from 0", len(d.Runs), d.End, MaxRuns)
	}
	if d.LeaderEpoch < 0 {
		return dst, fmt.Errorf("a directory of leader epoch %d, want it from 0", d.LeaderEpoch)
	}
	out := append(dst, magic...)
	out = append(out, formatVersion, 1, 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint64(out, uint64(id.Owner))
	out = binary.BigEndian.AppendUint64(out, d.Writer)
	out = binary.AppendUvarint(out, uint64(id.Partition))
	out = binary.AppendUvarint(out, uint64(d.End))
	out = binary.AppendUvarint(out, uint64(d.LeaderEpoch))
	out = binary.AppendUvarint(append(out, 0), uint64(len(d.Runs)))
	before := Run{Writer: d.Writer, First: -1}
	for i := range d.Runs {
		r := &d.Runs[i]
		if err := r.follows(&before); err != nil {
			return dst, fmt.Errorf("run %d of writer %016x: %w", r.Number, r.Writer, err)
		}
		out = r.append(out, &before)
		before = *r
	}
	value := out[len(dst):]
	binary.BigEndian.PutUint32(value[endDirVersions:], uint32(directorySum(value)))
	return out, nil
}

// follows returns the fault for which the run cannot stand behind another.
func (r *Run) follows(before *Run) error {
	if r.First <= before.First {
		return fmt.Errorf("first offset %d, want it above %d, as runs ascend", r.First, before.First)
	}
	return r.check()
}

// append writes a sound run that stands behind another.
func (r *Run) append(dst []byte, before *Run) []byte {
	if r.Writer == before.Writer {
		dst = append(dst, 0)
	} else {
		dst = binary.BigEndian.AppendUint64(append(dst, 1), r.Writer)
	}
	dst = binary.AppendVarint(dst, int64(r.Number-before.Number))
	dst = binary.AppendUvarint(dst, uint64(r.First-before.First-1))
	dst = binary.AppendUvarint(dst, uint64(r.Position-r.First))
	dst = binary.AppendUvarint(dst, uint64(r.Count-1))
	dst = binary.AppendUvarint(dst, uint64(r.others()))
	dst = binary.AppendUvarint(dst, uint64(r.Bytes))
	dst = binary.AppendVarint(dst, r.EarliestMs-before.EarliestMs)
	dst = binary.AppendUvarint(dst, uint64(r.LatestMs-r.EarliestMs))
	for _, s := range r.steps {
		dst = append(dst, byte(s))
	}
	if r.others() == 0 {
		return dst
	}
	said := int64(0)
	for _, n := range r.foreign {
		dst = binary.AppendUvarint(dst, uint64(n-said))
		said = n
	}
	return dst
}

// ReadDirectory reads a record of the runs topic. The error is ErrNoDirectory,
// ErrForeign, ErrDamaged or ErrNewer, checked in the order of ReadCopy. The memory is in
// proportion to the value, whatever numbers are in it.
func ReadDirectory(id Identity, key, value []byte, headers []kgo.RecordHeader) (Directory, error) {
	if key != nil || len(value) < len(magic) || string(value[:len(magic)]) != magic || lastHeader(headers) >= 0 {
		return Directory{}, ErrNoDirectory
	}
	d, err := readDirectory(id, value)
	if err != nil {
		return Directory{}, fmt.Errorf("directory: %w", err)
	}
	return d, nil
}

func readDirectory(id Identity, value []byte) (Directory, error) {
	if len(value) < endDirWriter {
		return Directory{}, fmt.Errorf("%d bytes, want at least %d: %w", len(value), endDirWriter, ErrDamaged)
	}
	want := directorySum(value)
	if got := sum(binary.BigEndian.Uint32(value[endDirVersions:])); got != want {
		return Directory{}, fmt.Errorf("checksum %08x, want %08x: %w", uint32(got), uint32(want), ErrDamaged)
	}
	owner := Owner(binary.BigEndian.Uint64(value[endDirSum:]))
	if err := checkOwner(owner, id, value[len(magic):]); err != nil {
		return Directory{}, err
	}
	d := Directory{Writer: binary.BigEndian.Uint64(value[endDirOwner:])}
	f := fields{b: value, at: endDirWriter}
	f.partition(id)
	d.End = int64(f.number("end", math.MaxInt64))
	d.LeaderEpoch = int32(f.number("leader epoch", math.MaxInt32))
	f.bytes("extension", f.number("length of the extension", math.MaxInt32))
	d.Runs = f.runs(d.Writer)
	f.end()
	if f.wrong != nil {
		return Directory{}, f.wrong
	}
	return d, nil
}

// runs takes the number of runs and the runs. No memory is taken for more than there are
// bytes for.
func (f *fields) runs(writer uint64) []Run {
	n := f.number("number of runs", MaxRuns)
	if left := len(f.b) - f.at; n > uint64(left/minRun) {
		f.fail("%d runs in %d bytes, want at least %d for each", n, left, minRun)
		return nil
	}
	if n == 0 {
		return nil
	}
	out := make([]Run, 0, n)
	before := Run{Writer: writer, First: -1}
	for i := range n {
		r := f.run(&before)
		if f.wrong != nil {
			f.wrong = fmt.Errorf("run %d of %d: %w", i+1, n, f.wrong)
			return nil
		}
		out, before = append(out, r), r
	}
	return out
}

// run takes the run behind another.
func (f *fields) run(before *Run) Run {
	r := Run{Writer: before.Writer}
	if f.number("kind of writer", 1) == 1 {
		if r.Writer = f.fixed("writer"); r.Writer == before.Writer {
			f.fail("writer %016x: want none, as the run before has the same", r.Writer)
		}
	}
	r.Number = before.Number + uint64(f.signed("number"))
	r.First = before.First + 1 + int64(f.number("first offset", uint64(max(maxOffset-before.First-1, 0))))
	room := uint64(max(maxOffset-r.First, 0)) // offsets that may follow
	r.Position = r.First + int64(f.number("position", room))
	copies := f.number("copies", min(room, maxTotal-1))
	others := f.number("foreign offsets", room-min(copies, room))
	r.Count, r.Last = int64(copies)+1, r.First+int64(copies+others)
	r.Bytes = int64(f.number("bytes", maxTotal))
	r.EarliestMs = before.EarliestMs + f.signed("earliest deadline")
	r.LatestMs = r.EarliestMs + int64(f.number("latest deadline", math.MaxInt64))
	for i, b := range f.bytes("steps", sixteenths-1) {
		r.steps[i] = step(b)
	}
	said := int64(0)
	for i := range r.foreign {
		if others > 0 {
			said += int64(f.number("foreign offsets of a sixteenth", others-uint64(said)))
		}
		r.foreign[i] = said
	}
	if f.wrong == nil {
		if err := r.check(); err != nil {
			f.fail("%v", err)
		}
	}
	return r
}

func directorySum(value []byte) sum {
	return sum(0).bytes(value[:endDirVersions]).bytes(value[endDirSum:])
}
