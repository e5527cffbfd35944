// Package batches looks at record batches as they stand in a log, by their headers alone:
//
//	first offset │ length │ leader epoch │ magic │ crc │ attributes │ last offset delta │ ... │ number of records │ records
//
// It is for batches that the client cannot read, or must not for their size. Their header
// has their offsets and the number of their records, and the broker says whether their
// transaction was aborted.
//
// It is no reader: it asks once for one batch, with a request of its own. The layout is
// that of Kafka's DefaultRecordBatch, magic 2. Of older ones only the size is known.
package batches
