import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { orElse } from '../../errors.ts';
import { type AgentLog, type LoggedCall, type LogPlaces, mergeCalls } from './logged-call.ts';
import { type OnLine, readLines } from './read-lines.ts';

/** Calls in an agent's logs, without duplicates, in order of time. */
export interface LogReading {
  calls: LoggedCall[];
  files: number;
  lines: number;
  /** Line numbers (from 1) of lines that aren't complete JSON, by file. */
  damaged: ReadonlyMap<string, readonly number[]>;
  /** Unreadable files, such as other users' files and damaged archives. */
  unread: readonly string[];
  /** False if `isOver` stopped before all files were read. Newer files come first. */
  complete: boolean;
}

export interface ReadOptions extends LogPlaces {
  /** UTC milliseconds; older files and calls are skipped. */
  since: number;
  /** Reads these files instead of those in the agent's folders. */
  files?: readonly string[] | undefined;
  isOver?: (() => boolean) | undefined;
  /** Called with the fraction of bytes read, 0 to 1. */
  onProgress?: ((share: number) => void) | undefined;
}

/** Reads all logs of an agent, or the files named. Changes nothing. Damaged lines are recorded and skipped. */
export async function readLogs(
  log: AgentLog,
  { since, files: named, isOver = () => false, onProgress, ...places }: ReadOptions,
): Promise<LogReading> {
  const files = await findLogs(log, named ?? (await listLogs(log, places)), since);
  const calls = new Map<string, LoggedCall>();
  const damaged = new Map<string, number[]>();
  const unread: string[] = [];
  const read = log.readLines ?? readLines;
  const onBytes = onProgress && progressOver(files, onProgress);
  let lines = 0;
  let complete = true;
  for (const { path } of files) {
    if (isOver()) {
      complete = false;
      break;
    }
    let line = 0;
    const faults: number[] = [];
    const fault = () => void faults.push(line);
    const reader = createLineReader(log, { calls, since, fault });
    const onLine: OnLine = (text) => {
      line++;
      reader(text);
    };
    try {
      complete = (await read(path, { onLine, onBytes, isOver })) && complete;
    } catch {
      unread.push(path);
    }
    if (faults.length > 0) damaged.set(path, faults);
    lines += line;
  }
  const inOrder = [...calls.values()].sort((a, b) => a.at - b.at);
  return { calls: inOrder, files: files.length, lines, damaged, unread, complete };
}

function progressOver(files: readonly LogFile[], onProgress: (share: number) => void) {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  return (bytes: number) => {
    done += bytes;
    onProgress(total === 0 ? 1 : Math.min(1, done / total));
  };
}

const OPEN = '{'.charCodeAt(0);
const CLOSE = '}'.charCodeAt(0);
const RETURN = '\r'.charCodeAt(0);

export function createLineReader(
  log: AgentLog,
  { calls, since, fault }: { calls: Map<string, LoggedCall>; since: number; fault: () => void },
) {
  const parser = log.createParser();
  const markers = log.markers.map((marker) => Buffer.from(marker));
  return (line: Buffer | undefined) => {
    if (line?.length === 0) return;
    const last = line?.at(-1) === RETURN ? -2 : -1;
    if (line?.[0] !== OPEN || line.at(last) !== CLOSE) return void fault();
    if (!markers.some((marker) => line.includes(marker))) return;
    try {
      const call = parser.parse(line.toString());
      if (!call || call.at < since) return;
      const earlier = calls.get(call.key);
      calls.set(call.key, earlier ? mergeCalls(earlier, call) : call);
    } catch {
      fault();
    }
  };
}

interface LogFile {
  path: string;
  size: number;
}

/** Paths of all logs of an agent. */
export async function listLogs(log: AgentLog, places: LogPlaces): Promise<string[]> {
  const found = await Promise.all(log.folders(places).map((folder) => listFiles(folder)));
  const entries = found.flat().filter((entry) => entry.isFile() && log.isLog(entry.name));
  return entries.map(({ parentPath, name }) => join(parentPath, name));
}

/** Files modified since `since`, newest first. */
async function findLogs(log: AgentLog, paths: readonly string[], since: number): Promise<LogFile[]> {
  const dated = await Promise.all(
    paths.map(async (path) => {
      const file = await stat(path).catch(() => undefined);
      // A database's newest rows are in its write-ahead log.
      const ahead = log.readLines && (await stat(`${path}-wal`).catch(() => undefined));
      const changedAt = Math.max(file?.mtimeMs ?? 0, ahead?.mtimeMs ?? 0);
      return { path, size: (file?.size ?? 0) + (ahead?.size ?? 0), changedAt };
    }),
  );
  return dated.filter(({ changedAt }) => changedAt >= since).sort((a, b) => b.changedAt - a.changedAt);
}

/** All entries below a folder, recursively; empty if the folder doesn't exist. */
function listFiles(folder: string): Promise<Dirent[]> {
  return readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
}

/** Limit of the lines to inspect; the first lines may fit any agent. */
const MAX_LINES = 1_000;

/** Identifies the agent that wrote a file by its content. Rejects if the file can't be read. */
export async function identifyLog<Agent extends { log?: AgentLog }>(
  path: string,
  agents: readonly Agent[],
): Promise<Agent | undefined> {
  let lines = 0;
  let found: Agent | undefined;
  const onLine = (line: Buffer | undefined) => {
    if (found || ++lines > MAX_LINES || !line) return;
    const value = jsonOf(line.toString());
    found = agents.find(({ log }) => log?.recognizes(value, path));
  };
  await readLines(path, { onLine, isOver: () => found !== undefined || lines > MAX_LINES });
  return found;
}

function jsonOf(text: string): unknown {
  return orElse(() => JSON.parse(text), text);
}
