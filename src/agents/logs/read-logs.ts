import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentLog, type LoggedCall, type LogPlaces, mergeCalls } from './logged-call.ts';
import { readLines } from './read-lines.ts';

/** The calls in an agent's logs, each once, in the order of their times. */
export interface LogReading {
  calls: LoggedCall[];
  files: number;
  lines: number;
  /** Lines that are no complete JSON, by file. */
  damaged: ReadonlyMap<string, number>;
  /** Files that can't be read: compressed ones, and those of other users. */
  unread: readonly string[];
  /** False if time was over before all files were read. The newest ones come first. */
  complete: boolean;
}

export interface ReadOptions extends LogPlaces {
  /** UTC milliseconds: files and calls before it are left out. */
  since: number;
  isOver?: () => boolean;
}

/** Reads all logs of an agent, or single files. Only reads; a damaged line is counted and left out. */
export async function readLogs(
  log: AgentLog,
  { since, isOver = () => false, ...places }: ReadOptions,
): Promise<LogReading> {
  const files = await findLogs(log, places, since);
  const calls = new Map<string, LoggedCall>();
  const damaged = new Map<string, number>();
  const unread: string[] = [];
  let lines = 0;
  let complete = true;
  for (const path of files) {
    if (isOver()) {
      complete = false;
      break;
    }
    if (path.endsWith('.zst')) {
      unread.push(path);
      continue;
    }
    const fault = () => damaged.set(path, (damaged.get(path) ?? 0) + 1);
    try {
      const reader = createLineReader(log, { calls, since, fault });
      const onLine = (line: Buffer | undefined) => {
        lines++;
        reader(line);
      };
      complete = (await readLines(path, onLine, isOver)) && complete;
    } catch {
      unread.push(path);
    }
  }
  const inOrder = [...calls.values()].sort((a, b) => a.at - b.at);
  return { calls: inOrder, files: files.length, lines, damaged, unread, complete };
}

interface LineOptions {
  calls: Map<string, LoggedCall>;
  since: number;
  fault: () => void;
}

const OPEN = '{'.charCodeAt(0);
const CLOSE = '}'.charCodeAt(0);
const RETURN = '\r'.charCodeAt(0);

function createLineReader(log: AgentLog, { calls, since, fault }: LineOptions) {
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

/** The log files that were written to since then, the newest first. */
async function findLogs(log: AgentLog, places: LogPlaces, since: number): Promise<string[]> {
  const found = await Promise.all(log.folders(places).map((folder) => listFiles(folder)));
  const paths = found.flat().filter((entry) => entry.isFile() && log.isLog(entry.name));
  const dated = await Promise.all(
    paths.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      return { path, changedAt: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 };
    }),
  );
  return dated
    .filter(({ changedAt }) => changedAt >= since)
    .sort((a, b) => b.changedAt - a.changedAt)
    .map(({ path }) => path);
}

/** All entries below a folder; none if there is no such folder. */
function listFiles(folder: string): Promise<Dirent[]> {
  return readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
}
