package wheel

import "reflect"

// footprint is the memory of a wheel, found by reflection: the wheel itself and all that
// its pointers and slices lead to, once.
func footprint(w *TimingWheel) int64 {
	v := reflect.ValueOf(w).Elem()
	return int64(v.Type().Size()) + behind(v)
}

// behind is the memory that a value leads to, without its own.
func behind(v reflect.Value) (n int64) {
	if !leads(v.Type()) {
		return 0
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n = int64(v.Type().Elem().Size()) + behind(v.Elem())
		}
	case reflect.Slice:
		n = int64(v.Cap()) * int64(v.Type().Elem().Size())
		for i := 0; i < v.Len() && leads(v.Type().Elem()); i++ {
			n += behind(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			n += behind(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += behind(v.Field(i))
		}
	}
	return n
}

// leads reports whether values of a type lead to memory. A level is pointed to only where
// it stands, within the wheel.
func leads(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return t != reflect.TypeFor[*level]()
	case reflect.Slice:
		return true
	case reflect.Array:
		return leads(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if leads(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
