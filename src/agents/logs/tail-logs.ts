import { type FileHandle, open } from 'node:fs/promises';
import { type AgentLog, type LoggedCall, mergeCalls } from './logged-call.ts';
import { createLineSplitter } from './read-lines.ts';
import { createLineReader, readLogs } from './read-logs.ts';

/** Reads logs as they grow. */
export interface LogTail {
  /** The calls of what was added to a log since its last reading; all of them the first time. */
  read(path: string): Promise<LoggedCall[]>;
  /** Whether each reading takes the whole log: a database, or a compressed one. */
  readsWhole(path: string): boolean;
}

interface OpenLog {
  offset: number;
  /** The bytes before the offset. */
  seen: Buffer;
  push: (chunk: Buffer) => void;
  calls: Map<string, LoggedCall>;
}

const CHUNK_BYTES = 1024 * 1024;
/** Agents rewrite logs in place, which then may be longer: other bytes here say so. */
const SEEN_BYTES = 256;
/** Logs whose place is remembered; the one that grew longest ago is read from its start when it grows again. */
const MAX_LOGS = 500;

export function createLogTail(log: AgentLog): LogTail {
  const logs = new Map<string, OpenLog>();

  async function openLog(path: string, file: FileHandle): Promise<OpenLog> {
    const found = logs.get(path);
    logs.delete(path);
    const calls = new Map<string, LoggedCall>();
    // Damaged lines are left out: gw import names them.
    const start = () => ({
      offset: 0,
      seen: Buffer.alloc(0),
      push: createLineSplitter(createLineReader(log, { calls, since: 0, fault() {} })),
      calls,
    });
    const current = found && (await isSame(file, found)) ? found : start();
    const [oldest = ''] = logs.keys();
    if (logs.size >= MAX_LOGS) logs.delete(oldest);
    logs.set(path, current);
    return current;
  }

  const readsWhole = (path: string) =>
    (log.readLines !== undefined && !log.hasLines?.(path)) || path.endsWith('.zst');

  return {
    readsWhole,
    async read(path) {
      if (readsWhole(path))
        return (await readLogs(log, { home: '', env: {}, since: 0, files: [path] })).calls;
      const file = await open(path);
      try {
        const current = await openLog(path, file);
        const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
        for (;;) {
          const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, current.offset);
          if (bytesRead === 0) break;
          current.offset += bytesRead;
          const read = chunk.subarray(0, bytesRead);
          current.seen = Buffer.concat([current.seen, read.subarray(-SEEN_BYTES)]).subarray(-SEEN_BYTES);
          current.push(read);
        }
        const calls = [...current.calls.values()];
        current.calls.clear();
        return calls;
      } finally {
        await file.close();
      }
    },
  };
}

/** Whether a log still has what was read of it last. */
async function isSame(file: FileHandle, { offset, seen }: OpenLog): Promise<boolean> {
  const now = Buffer.alloc(seen.length);
  const { bytesRead } = await file.read(now, 0, now.length, offset - now.length);
  return bytesRead === seen.length && now.equals(seen);
}

/** Adds calls to those that are known, each once. */
export function addCalls(known: Map<string, LoggedCall>, calls: readonly LoggedCall[]): void {
  for (const call of calls) {
    const earlier = known.get(call.key);
    known.set(call.key, earlier ? mergeCalls(earlier, call) : call);
  }
}
