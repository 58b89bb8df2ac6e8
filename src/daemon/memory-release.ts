import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface MemoryReleaseOptions {
  heapBytes?: () => number;
  /** The share of the time since the last call in which the event loop was busy. */
  busyShare?: () => number;
  collect?: () => void;
}

/** A daemon without requests is busy for a fifth of this. */
const QUIET_SHARE = 0.01;
/** What there may be to release is worth 30 ms. */
const WORTHWHILE_BYTES = 16 * 1024 ** 2;

/**
 * Returns a check, to be made every few minutes, that gives memory back to the system if no requests came since the one
 * before. The collection also takes what compiled code refers to when no request runs, and the code with it: about 20,000
 * requests then take twice the CPU, so that seconds without requests are no reason for it.
 */
export function createMemoryRelease(options: MemoryReleaseOptions = {}): () => void {
  const { heapBytes = totalHeapBytes, busyShare = createBusyShare(), collect = createCollect() } = options;
  let least = heapBytes();
  return () => {
    const bytes = heapBytes();
    least = Math.min(least, bytes);
    if (busyShare() > QUIET_SHARE || bytes - least < WORTHWHILE_BYTES) return;
    collect();
    least = heapBytes();
  };
}

const totalHeapBytes = (): number => getHeapStatistics().total_heap_size;

function createBusyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

/** V8 gives its collection to contexts that are made while this flag is set. */
function createCollect(): () => void {
  let gc: (() => void) | undefined;
  return () => {
    setFlagsFromString('--expose-gc');
    gc ??= runInNewContext('gc') as () => void;
    gc();
  };
}
