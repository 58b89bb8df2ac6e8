import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Agent } from '../../agents/agent.ts';
import type { AgentLog, LoggedCall, LogPlaces } from '../../agents/logs/logged-call.ts';
import { listLogs } from '../../agents/logs/read-logs.ts';
import { addCalls, createLogTail, type LogTail } from '../../agents/logs/tail-logs.ts';
import type { Clock } from '../../clock.ts';

export interface WatchLogsOptions extends LogPlaces {
  agents: readonly Pick<Agent, 'name' | 'log'>[];
  clock: Clock;
  /** Imports calls, sorted by time. A call whose import fails is offered again with the next. */
  importCalls: (agent: Agent['name'], calls: LoggedCall[]) => Promise<void>;
  onError: (error: unknown) => void;
}

/** From a change to its reading. */
const READ_AFTER_MS = 1_000;
/** A call is imported once its lines have not changed for this long, and its record in gw is written. */
const SETTLED_MS = 1_500;
/** Databases are read as a whole. */
const WHOLE_EVERY_MS = 4_000;
/** For what the system does not tell of: new folders, network drives. */
const RESCAN_MS = 30_000;
/** The same, where it tells of nothing. */
const UNWATCHED_RESCAN_MS = 3_000;
/** Logs that changed in the last day are read at the start; older ones when they grow. */
const RECENT_MS = 86_400_000;

/** Reads the logs of agents as they grow, until the returned function is called. */
export function watchLogs({
  agents,
  clock,
  importCalls,
  onError,
  ...places
}: WatchLogsOptions): () => Promise<void> {
  let stopped = false;
  const watched = agents.flatMap(({ name, log }) =>
    log
      ? [watchAgent({ log, places, clock, onError, import: (calls) => importCalls(name, calls), changed })]
      : [],
  );
  let cancel: (() => void) | undefined;
  let running = Promise.resolve();

  function changed(): void {
    if (stopped || cancel) return;
    cancel = clock.after(READ_AFTER_MS, () => {
      running = running.then(step).catch(onError);
    });
  }

  async function step(): Promise<void> {
    cancel = undefined;
    for (const each of watched) if (!stopped && (await each.read())) changed();
  }

  let cancelScan = () => {};
  async function scan(): Promise<void> {
    let isTold = true;
    for (const each of watched) if (!stopped && !(await each.scan())) isTold = false;
    if (!stopped)
      cancelScan = clock.after(isTold ? RESCAN_MS : UNWATCHED_RESCAN_MS, () => {
        running = running.then(scan).catch(onError);
      });
  }
  running = scan().catch(onError);

  return async () => {
    stopped = true;
    cancel?.();
    cancelScan();
    for (const each of watched) each.close();
    await running;
  };
}

interface AgentWatchOptions {
  log: AgentLog;
  places: LogPlaces;
  clock: Clock;
  import: (calls: LoggedCall[]) => Promise<void>;
  onError: (error: unknown) => void;
  changed: () => void;
}

function watchAgent({ log, places, clock, changed, onError, ...options }: AgentWatchOptions) {
  const tail: LogTail = createLogTail(log);
  const watchers = new Map<string, FSWatcher>();
  const sizes = new Map<string, string>();
  const dirty = new Set<string>();
  const readAt = new Map<string, number>();
  /** Calls that are not imported yet, and when their lines were last seen. */
  const pending = new Map<string, LoggedCall>();
  const seenAt = new Map<string, number>();
  let isFirst = true;

  function note(path: string): void {
    dirty.add(path);
    changed();
  }

  /** Returns false where the system can't tell of changes. */
  function watchFolder(folder: string): boolean {
    if (watchers.has(folder)) return true;
    try {
      const watcher = watch(folder, { recursive: true, persistent: false }, (_event, name) => {
        // A database's newest rows are in the file beside it.
        const path = name && join(folder, name.replace(/-(?:wal|shm)$/, ''));
        if (path && log.isLog(basename(path))) note(path);
      });
      watcher.on('error', () => {
        watcher.close();
        watchers.delete(folder);
      });
      watchers.set(folder, watcher);
      return true;
    } catch (error) {
      // There is no such folder yet.
      return (error as NodeJS.ErrnoException).code === 'ENOENT';
    }
  }

  async function stampOf(path: string): Promise<{ stamp: string; changedAt: number } | undefined> {
    const files = await Promise.all([path, `${path}-wal`].map((each) => stat(each).catch(() => undefined)));
    const [file, ahead] = files;
    if (!file) return undefined;
    const changedAt = Math.max(file.mtimeMs, ahead?.mtimeMs ?? 0);
    return { stamp: `${file.size} ${ahead?.size ?? 0} ${changedAt}`, changedAt };
  }

  async function readDirty(): Promise<void> {
    for (const path of [...dirty]) {
      const now = clock.monotonic();
      if (tail.readsWhole(path) && now - (readAt.get(path) ?? Number.NEGATIVE_INFINITY) < WHOLE_EVERY_MS)
        continue;
      dirty.delete(path);
      readAt.set(path, now);
      // It is gone, or another user's.
      const calls = await tail.read(path).catch(() => []);
      addCalls(pending, calls);
      for (const { key } of calls) seenAt.set(key, now);
    }
  }

  async function importSettled(): Promise<void> {
    const now = clock.monotonic();
    const settled = [...pending.values()].filter(({ key }) => now - (seenAt.get(key) ?? 0) >= SETTLED_MS);
    if (settled.length === 0) return;
    await options.import(settled.sort((a, b) => a.at - b.at));
    for (const { key } of settled) {
      pending.delete(key);
      seenAt.delete(key);
    }
  }

  return {
    /** Returns whether there is more to do. */
    async read(): Promise<boolean> {
      await readDirty();
      await importSettled().catch(onError);
      return dirty.size + pending.size > 0;
    },
    /** Finds logs that have changed. Returns false where only this finds them. */
    async scan(): Promise<boolean> {
      const isTold = log.folders(places).map(watchFolder).every(Boolean);
      const recent = clock.now() - RECENT_MS;
      for (const path of await listLogs(log, places)) {
        const found = await stampOf(path);
        if (!found || sizes.get(path) === found.stamp) continue;
        sizes.set(path, found.stamp);
        if (!isFirst || found.changedAt >= recent) note(path);
      }
      isFirst = false;
      return isTold;
    },
    close(): void {
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}
