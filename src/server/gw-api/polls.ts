import { GwError } from '../../errors.ts';
import { newId, type Random } from '../../ids.ts';
import { encodeDashboard } from '../../reading/dashboard-wire.ts';
import type { DashboardFeed, DashboardQuery, Follower, Reader } from '../../reading/reader.ts';
import type { DashboardView, RequestView } from '../../reading/schemas.ts';
import type { Caller } from '../../store/accounts/callers.ts';

/** What the daemon keeps of clients that poll. */
export interface Polls {
  dashboard(
    caller: Pick<Caller, 'admin' | 'projectId'>,
    reader: Reader,
    query: DashboardQuery,
    unless: string | undefined,
  ): Promise<{ version: string; data: DashboardView | null }>;
  /** The requests since the last call with the cursor. Without one, following begins. */
  tail(options: TailOptions): Promise<{ data: RequestView[]; next_cursor: string }>;
}

interface TailOptions {
  reader: Reader;
  keyId: number;
  filter: { project?: string | undefined; status?: string | undefined };
  cursor: string | undefined;
}

interface Tail {
  keyId: number;
  follower: Follower<RequestView>;
  usedAt: number;
}

const MAX_TAILS = 100;
const TAIL_IDLE_MS = 60_000;
const MINUTE_MS = 60_000;

export function createPolls({ now, random }: { now: () => number; random: Random }): Polls {
  const tails = new Map<string, Tail>();
  /** By project, or 0 for all. With the reader's calendar, so that a changed time zone begins anew. */
  const feeds = new Map<number, { timezone: string; feed: DashboardFeed; name: string; version: number }>();

  async function feedOf(projectId: number, reader: Reader) {
    const { timezone } = await reader.calendar();
    const cached = feeds.get(projectId);
    if (cached?.timezone === timezone) return cached;
    const feed = { timezone, feed: await reader.dashboard(), name: newId('view', random), version: 0 };
    feeds.set(projectId, feed);
    return feed;
  }

  function dropIdle(): void {
    for (const [cursor, { usedAt }] of tails) {
      if (now() - usedAt > TAIL_IDLE_MS || tails.size > MAX_TAILS) tails.delete(cursor);
    }
  }

  return {
    async dashboard({ admin, projectId }, reader, query, unless) {
      const current = await feedOf(admin ? 0 : projectId, reader);
      if (current.feed.changed()) current.version++;
      // Charts and forecasts move on with each minute.
      const version = `${current.name}.${current.version}.${Math.floor(query.now / MINUTE_MS)}`;
      if (version === unless) return { version, data: null };
      const data = await current.feed.read(query);
      return { version, data: data === undefined ? null : encodeDashboard(data) };
    },
    async tail({ reader, keyId, filter, cursor }) {
      dropIdle();
      if (cursor === undefined) {
        const next = newId('tail', random);
        tails.set(next, { keyId, follower: await reader.followRequests(filter), usedAt: now() });
        return { data: [], next_cursor: next };
      }
      const tail = tails.get(cursor);
      if (!tail || tail.keyId !== keyId) throw cursorExpired(cursor);
      tail.usedAt = now();
      return { data: await tail.follower.next(), next_cursor: cursor };
    },
  };
}

function cursorExpired(cursor: string): GwError {
  return new GwError(`cursor "${cursor}" is unknown or has expired: start again without a cursor`, {
    status: 410,
    type: 'not_found_error',
    code: 'cursor_expired',
    param: 'cursor',
  });
}
