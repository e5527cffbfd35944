package runs

import (
	"encoding/binary"
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/offsets"
)

// What a fuzz input says about the record that is made of it.
const (
	formSealed     = 1 << iota // the input stands behind the fields of fixed size, the checksum is right
	formOtherOwner             // of another owner
	formLater                  // of a later version that this reader can read
	formNewer                  // of a later version that it cannot
)

func versionsOf(form byte) string {
	switch {
	case form&formNewer != 0:
		return "\x02\x02"
	case form&formLater != 0:
		return "\xff\x01"
	}
	return "\x01\x01"
}

func ownerOf(form byte) string {
	owner := uint64(testID.Owner)
	if form&formOtherOwner != 0 {
		owner++
	}
	return string(binary.BigEndian.AppendUint64(nil, owner))
}

// modelNumber reads an unsigned LEB128 number in its shortest form, of any size. It
// returns nil where there is none.
func modelNumber(b []byte) (*big.Int, []byte) {
	n := new(big.Int)
	for i, c := range b {
		n.Or(n, new(big.Int).Lsh(big.NewInt(int64(c&0x7f)), uint(7*i)))
		if c < 0x80 {
			if i > 0 && c == 0 {
				return nil, nil
			}
			return n, b[i+1:]
		}
	}
	return nil, nil
}

// modelSigned turns a number into a signed one as the package comment has it.
func modelSigned(n *big.Int) *big.Int {
	half := new(big.Int).Rsh(n, 1)
	if n.Bit(0) == 1 {
		return half.Neg(half).Sub(half, big.NewInt(1))
	}
	return half
}

// modelCopy reads a header as the package comment describes it, in numbers without a
// bound.
func modelCopy(own, key, value []byte, others []kgo.RecordHeader) (c Copy, partition int64, kind error) {
	switch {
	case len(own) < 38 || string(sealCopy(append([]byte(nil), own...), key, value, others...)) != string(own):
		return c, 0, ErrDamaged
	case string(own[6:14]) != ownerOf(0):
		return c, 0, ErrForeign
	case own[1] < 1 || own[1] > own[0]:
		return c, 0, ErrDamaged
	case own[1] > 1:
		return c, 0, ErrNewer
	}
	var n [7]*big.Int
	rest := own[38:]
	for i, most := range []uint{31, 63, 32, 64, 64, 64, 31} {
		if n[i], rest = modelNumber(rest); n[i] == nil || n[i].BitLen() > int(most) {
			return c, 0, ErrDamaged
		}
		if i == 0 && n[0].Int64() != int64(testID.Partition) {
			return c, 0, ErrForeign
		}
	}
	if n[2].Int64() > 1<<31 || n[6].Int64() != int64(len(rest)) {
		return c, 0, ErrDamaged
	}
	deadline := new(big.Int).Add(modelSigned(n[3]), modelSigned(n[4]))
	deadline.And(deadline, new(big.Int).SetUint64(1<<64-1))
	return Copy{
		Origin:     Origin{offsets.TopicID(own[14:]), n[1].Int64(), int32(n[2].Int64() - 1), modelSigned(n[3]).Int64()},
		DeadlineMs: int64(deadline.Uint64()), Writer: binary.BigEndian.Uint64(own[30:]), Run: n[5].Uint64(),
	}, n[0].Int64(), nil
}

// FuzzReadCopyAgreesWithAReaderOfTheFormat compares ReadCopy with the model, and what it
// read with what AppendCopy writes of it.
func FuzzReadCopyAgreesWithAReaderOfTheFormat(f *testing.F) {
	for _, fields := range []string{
		"", "\x03", "\x03\xac\x02\x05\xd0\x0f\xc0\xa9\x07\x02\x00", "\x03\x00\x00\x00\x00\x00\x01\xff", "\x04\x00\x00\x00\x00\x00\x00", "\x83\x00\x00\x00\x00\x00\x00\x00",
		"\x03\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x80\x80\x80\x80\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
		"\x03\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00\x00\x00\x00\x00", "\x03\x00\x81\x80\x80\x80\x08\x00\x00\x00\x00", "\x03\x00\x00\x00\x00\x00\x00\x00",
		"\x03\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00",
	} {
		for form := range byte(16) {
			f.Add([]byte(fields), []byte("key"), []byte("value"), "x-delay", form)
			f.Add([]byte(fields), []byte{}, []byte{}, Header, form)
		}
	}
	m := made(testID, usualCopy(), usualRecord())
	f.Add(m.headers[len(m.headers)-1].Value, m.key, m.value, "", byte(0))
	f.Fuzz(func(t *testing.T, input, key, value []byte, name string, form byte) {
		own, others := input, []kgo.RecordHeader{{Key: name, Value: key}}
		if form&formSealed != 0 {
			fixed := versionsOf(form) + "    " + ownerOf(form) + string(testTopic[:]) + "\x01\x02\x03\x04\x05\x06\x07\x08"
			own = sealCopy(append([]byte(fixed), input...), key, value, others...)
		}
		want, _, kind := modelCopy(own, key, value, others)
		got, rest, err := ReadCopy(testID, key, value, append(others[:1:1], kgo.RecordHeader{Key: Header, Value: own}))
		if !errors.Is(err, kind) || got != want || err == nil != (len(rest) == 1) {
			t.Fatalf("%x: %+v with %v, %v, want %+v, %v", own, got, rest, err, want, kind)
		}
		if err != nil || own[0] != 1 || own[len(own)-1] != 0 {
			return
		}
		again, _ := AppendCopy(others, nil, testID, &got, key, value)
		if w := again[1].Value; string(w) != string(own) && len(own) == len(w) {
			t.Fatalf("read %x, wrote %x", own, w)
		}
	})
}

// FuzzReadDirectoryHoldsItsPromises: the kind of each error, memory by the bytes that are
// there, sound runs alone, and one encoding for each directory.
func FuzzReadDirectoryHoldsItsPromises(f *testing.F) {
	rng := rand.New(rand.NewPCG(15, 16))
	for range 20 {
		d := Directory{Writer: 0x0102030405060708, End: rng.Int64(), LeaderEpoch: rng.Int32() >> rng.IntN(32)}
		for i := range rng.IntN(4) {
			r := newModel(rng, int64(i)*1000, 1+rng.IntN(40), 100, shapes["exponential"]).run(f, uint64(rng.IntN(2)), rng.Uint64())
			d.Runs = append(d.Runs, r)
		}
		value, err := AppendDirectory(nil, testID, &d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value, int64(1_790_000_100_000), byte(0))
		f.Add(value[endDirWriter:], int64(1_790_000_100_000), byte(formSealed))
		f.Add(value[endDirWriter:], int64(0), byte(rng.Uint32())|formSealed)
	}
	one := "\x00\x0e\x28\x02\x10\x00\xc0\x0c\xd0\x0f\xe8\x07" + strings.Repeat("\x10", 15)
	for _, fields := range []string{
		"", "\x03", "\x04\x00\x00\x00\x00", "\x03\x00\x00\x00", "\x03\x00\x00\x00\x00", "\x03\x00\x05\x01\xff\x00", "\x03\x00\x00\x00\x80\x20", "\x03\x00\xff\xff\xff\xff\x07\x00\x00", "\x03\x00\x80\x80\x80\x80\x08\x00\x00", "\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"\x03\x38\x05\x00\x01" + one, "\x03\x38\x05\x00\x02" + one + one, "\x03\x38\x05\x00\x01" + one + "\x00", "\x03\x38\x05\x00\x01" + one[:20],
		"\x03\x38\x05\x00\x01\x00\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x40\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x00", 15),
	} {
		for form := range byte(16) {
			f.Add([]byte(fields), int64(1500), form)
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, ms int64, form byte) {
		value := input
		if form&formSealed != 0 {
			value = sealDirectory([]byte("LR" + versionsOf(form) + "    " + ownerOf(form) + "\x01\x02\x03\x04\x05\x06\x07\x08" + string(input)))
		}
		d, err := ReadDirectory(testID, nil, value, nil)
		if err != nil {
			checkRefusal(t, d, err, form)
			return
		}
		if cap(d.Runs)*24 > len(value) {
			t.Fatalf("room for %d runs from %d bytes", cap(d.Runs), len(value))
		}
		if form&(formOtherOwner|formNewer) != 0 && form&formSealed != 0 {
			t.Fatalf("read a directory of form %b", form)
		}
		again, err := AppendDirectory(nil, testID, &d)
		if err != nil {
			t.Fatalf("%x was read and is not written: %v", value, err)
		}
		if value[2] == 1 && len(again) == len(value) && string(again) != string(value) {
			t.Fatalf("read %x, wrote %x", value, again)
		}
		for i := range d.Runs {
			checkRun(t, &d.Runs[i], ms)
		}
	})
}

func checkRefusal(t *testing.T, d Directory, err error, form byte) {
	t.Helper()
	kinds := 0
	for _, kind := range []error{ErrNoDirectory, ErrForeign, ErrDamaged, ErrNewer} {
		if errors.Is(err, kind) {
			kinds++
		}
	}
	if kinds != 1 || d.Runs != nil || d.End != 0 || d.LeaderEpoch != 0 || d.Writer != 0 {
		t.Fatalf("%+v with %v", d, err)
	}
	if form&(formSealed|formOtherOwner) == formSealed|formOtherOwner && !errors.Is(err, ErrForeign) {
		t.Fatalf("another owner's: %v", err)
	}
}

// checkRun holds a run that was read to what can be said without its copies.
func checkRun(t *testing.T, r *Run, ms int64) {
	t.Helper()
	lower, upper := r.DueBy(ms)
	from, to := r.Next()
	begin, end := r.Begin(ms), r.End(ms)
	switch {
	case r.First < 0 || r.Position < r.First || r.Position > r.Last || r.Count < 1 || r.Count > r.Last-r.First+1:
	case lower.Copies < 0 || lower.Copies > upper.Copies || upper.Copies > r.Count:
	case lower.Bytes < 0 || lower.Bytes > upper.Bytes || upper.Bytes > r.Bytes:
	case from < r.EarliestMs || from > to || to > r.LatestMs:
	case begin < r.Position || begin > r.Last+1 || end < r.First || end > r.Last+1:
	default:
		return
	}
	t.Fatalf("%+v\nat %d: %+v to %+v, next %d to %d, visit %d to %d", *r, ms, lower, upper, from, to, begin, end)
}
