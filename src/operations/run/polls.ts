import { GwError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { listKeys } from '../../store/accounts/keys.ts';
import { VERSION } from '../../version.ts';
import { encodeDashboard } from '../dashboard-wire.ts';
import type { Input } from '../operation.ts';
import type { Feed, Polls } from '../reader.ts';
import type * as described from '../schemas/dashboard.ts';
import type { Sources } from '../sources.ts';
import { localDashboard } from './dashboard.ts';
import { followMatching } from './requests.ts';

const MAX_TAILS = 100;
const TAIL_IDLE_MS = 60_000;
const MINUTE_MS = 60_000;

export async function whoami(sources: Sources): Promise<described.WhoamiView> {
  const { db, scope, calendar, now } = sources;
  const own = (await listKeys(db, scope.projectId)).find(({ id }) => id === scope.keyId);
  if (!own) throw new Error(`key ${scope.keyId} vanished`);
  const { id, project, hint, admin, label } = own;
  return {
    object: 'whoami',
    version: VERSION,
    timezone: calendar.timezone,
    now: new Date(now()).toISOString(),
    key: { id, project_id: project, hint, admin, label },
  };
}

export async function dashboardView(
  sources: Sources,
  { window = 'day', kind = 'all', text = '', by, limit, unless }: Input<typeof described.dashboardView>,
) {
  const current = await feedOf(sources);
  if (current.feed.changed()) current.version++;
  const now = sources.now();
  // Charts and forecasts move on with each minute.
  const version = `${current.name}.${current.version}.${Math.floor(now / MINUTE_MS)}`;
  if (version === unless) return { object: 'dashboard', version, data: null };
  const data = await current.feed.read({ window, filter: { kind, text, limit }, by, now });
  return { object: 'dashboard', version, data: data === undefined ? null : encodeDashboard(data) };
}

async function feedOf(sources: Sources): Promise<Feed> {
  const { scope, calendar } = sources;
  const { feeds, random } = pollsOf(sources);
  const projectId = scope.admin ? 0 : scope.projectId;
  const cached = feeds.get(projectId);
  if (cached?.timezone === calendar.timezone) return cached;
  const feed = await localDashboard(sources);
  const begun = { timezone: calendar.timezone, feed, name: newId('view', random), version: 0 };
  feeds.set(projectId, begun);
  return begun;
}

/** The requests since the last call with the cursor. Without one, following begins. */
export async function tail(sources: Sources, { cursor, ...filter }: Input<typeof described.tail>) {
  const { scope, now } = sources;
  const { tails, random } = pollsOf(sources);
  for (const [each, { usedAt }] of tails)
    if (now() - usedAt > TAIL_IDLE_MS || tails.size > MAX_TAILS) tails.delete(each);
  if (cursor === undefined) {
    const next = newId('tail', random);
    const follower = await followMatching(sources, filter);
    tails.set(next, { keyId: scope.keyId, follower, usedAt: now() });
    return { object: 'list', data: [], next_cursor: next };
  }
  const tail = tails.get(cursor);
  if (!tail || tail.keyId !== scope.keyId) throw cursorExpired(cursor);
  tail.usedAt = now();
  return { object: 'list', data: await tail.follower.next(), next_cursor: cursor };
}

function pollsOf({ polls }: Sources): Polls {
  if (polls) return polls;
  throw new Error('only a daemon keeps what is polled');
}

function cursorExpired(cursor: string): GwError {
  return new GwError(`cursor "${cursor}" is unknown or has expired: start again without a cursor`, {
    status: 410,
    type: 'not_found_error',
    code: 'cursor_expired',
    param: 'cursor',
  });
}
