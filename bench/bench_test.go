package bench

import "testing"

func BenchmarkPair(b *testing.B)     { RunPairs(b) }
func BenchmarkDispatch(b *testing.B) { RunGroup(b, Dispatch) }
func BenchmarkToolCall(b *testing.B) { RunGroup(b, ToolCall) }
func BenchmarkFiltered(b *testing.B) { RunGroup(b, Filtered) }
func BenchmarkParallel(b *testing.B) { RunGroup(b, Parallel) }
