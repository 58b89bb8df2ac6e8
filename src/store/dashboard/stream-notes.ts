import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { RequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { ROUTER_ROWS } from '../router/router-state.ts';

/** What a running stream has brought so far, by its text: as the daemon notes it each second while a dashboard is open. */
export interface NotedStream {
  id: RequestId;
  outputTokens: number;
  tokensPerSecond: number;
  /** What it comes to at the model's prices; null if they are unknown. */
  usedNanoUsd: NanoUsd | null;
}

/** Older notes are of a daemon that is gone. */
const NOTE_LASTS_MS = 3_000;

/** Reads the notes of running streams, by the id of their request. */
export function createStreamReader(db: Db): (now: number) => Map<RequestId, NotedStream> {
  const select = db
    .prepare<[number], string>(
      `SELECT snapshot FROM route_health WHERE id = ${ROUTER_ROWS.streams} AND saved_at > ?`,
    )
    .pluck();
  return (now) => {
    const text = select.get(now - NOTE_LASTS_MS);
    const streams: NotedStream[] = text === undefined ? [] : JSON.parse(text);
    return new Map(streams.map((stream) => [stream.id, stream]));
  };
}

const MARK_EVERY_MS = 5_000;
const MARK_LASTS_MS = 3 * MARK_EVERY_MS;

/** A file beside the database whose time says that a dashboard reads it, in whichever process. */
export function createWatchMark(db: Db) {
  const path = join(dirname(db.name), 'dashboard.open');
  let marked = Number.NEGATIVE_INFINITY;
  return {
    /** Called at each reading. Without rights to write there are no figures of streams, and nothing else is missing. */
    mark(now: number): void {
      if (Math.abs(now - marked) < MARK_EVERY_MS) return;
      marked = now;
      try {
        writeFileSync(path, '', { mode: 0o600 });
        utimesSync(path, now / 1_000, now / 1_000);
      } catch {}
    },
    isFresh(now: number): boolean {
      try {
        const time = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
        return time !== undefined && Math.abs(now - time) < MARK_LASTS_MS;
      } catch {
        return false;
      }
    },
  };
}
