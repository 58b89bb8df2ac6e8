import { remembered } from '../../json/grouped.ts';
import { usdNumber } from '../../money.ts';
import { type LoginRequest, loginRequests } from '../../store/limits/limit-requests.ts';
import {
  type LimitPoint,
  type LimitRow,
  lastRun,
  limitPoints,
  listLimits,
} from '../../store/limits/limit-rows.ts';
import { fullAtOf } from '../../store/limits/pace.ts';
import type { SharedOut } from '../../store/limits/share-out.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/limits.ts';
import type { LimitUsageView, LimitWindowView } from '../schemas/limits.ts';
import type { Sources } from '../sources.ts';
import { parseTime } from '../times.ts';

const PPM = 1_000_000;
const HOUR_MS = 3_600_000;
const PARTS = 12;
const DROPPED_MS = HOUR_MS;

export async function limits({ db, now }: Pick<Sources, 'db' | 'now'>): Promise<LimitWindowView[]> {
  const time = now();
  const rows = listLimits(db);
  const newest = new Map(rows.map((row) => [row.login, 0]));
  for (const { login, updatedAt } of rows) newest.set(login, Math.max(newest.get(login) ?? 0, updatedAt));
  // Vendors drop windows: one that has reset and that later answers don't name is not there any more.
  const isThere = (row: LimitRow) =>
    row.resetsAt > time || (newest.get(row.login) ?? 0) - row.updatedAt < DROPPED_MS;
  return rows.filter(isThere).map((row) => viewOf(row, limitPoints(db, row.id, time - HOUR_MS), time));
}

function viewOf(row: LimitRow, points: readonly LimitPoint[], now: number): LimitWindowView {
  const isOver = row.resetsAt <= now;
  const run = lastRun(points);
  const fullAt = isOver ? undefined : fullAtOf(row, run, now);
  return {
    object: 'limit_window',
    login: row.login,
    service: row.service,
    window: row.window,
    model: row.model || null,
    used: isOver ? 0 : row.usedPpm / PPM,
    resets_at: isOver ? null : new Date(row.resetsAt).toISOString(),
    status: isOver ? 'reset' : row.status,
    full_at: fullAt === undefined ? null : new Date(fullAt).toISOString(),
    updated_at: new Date(row.updatedAt).toISOString(),
    last_hour: Array.from({ length: PARTS }, (_, i) => {
      const end = now - HOUR_MS + ((i + 1) * HOUR_MS) / PARTS;
      const last = points.findLast(({ at, resetsAt }) => at <= end && resetsAt > end);
      return last ? last.usedPpm / PPM : null;
    }),
  };
}

/** The fit looks at least so far back. */
const FITTED_MS = 14 * 24 * HOUR_MS;

type Group = LimitUsageView['data'][number];
type Shares = Record<'share_5h' | 'share_7d', SharedOut | undefined>;

export async function limitUsage(
  { db, now }: Pick<Sources, 'db' | 'now'>,
  { group_by = 'session', since, login }: Input<typeof described.limitUsage>,
): Promise<LimitUsageView> {
  const from = parseTime(since);
  const first = Math.min(from, now() - FITTED_MS);
  const requests = loginRequests(db, first).filter((each) => login === undefined || each.login === login);
  const rows = listLimits(db).filter(
    (row) => row.model === '' && (login === undefined || row.login === login),
  );
  const groups = new Map<string, Group>();
  const groupOf = (request: LoginRequest): Group =>
    remembered(groups, request[group_by], () => emptyGroup(request[group_by]));
  const outside = { share_5h: 0, share_7d: 0 };
  const error: LimitUsageView['error'] = { share_5h: null, share_7d: null };
  for (const name of new Set(rows.map((row) => row.login))) {
    const own = requests.filter((each) => each.login === name);
    const pointsOf = (window: string) => {
      const row = rows.find((each) => each.login === name && each.window === window);
      return row ? limitPoints(db, row.id, first) : [];
    };
    const shares = await sharesOf(pointsOf('5h'), pointsOf('7d'), own, from);
    for (const window of ['share_5h', 'share_7d'] as const) {
      const shared = shares[window];
      if (!shared) continue;
      outside[window] += shared.outsidePpm / PPM;
      if (shared.errorPpm !== undefined)
        error[window] = Math.max(error[window] ?? 0, Math.round(shared.errorPpm) / PPM);
      for (const [i, ppm] of shared.sharesPpm) {
        const request = own[i];
        if (request) groupOf(request)[window] += ppm;
      }
    }
  }
  for (const request of requests) if (request.endedAt > from) addTo(groupOf(request), request);
  const data = [...groups.values()]
    .sort((a, b) => b.share_7d - a.share_7d || b.share_5h - a.share_5h || b.list_usd - a.list_usd)
    .map((group) => ({
      ...group,
      share_5h: group.share_5h / PPM,
      share_7d: group.share_7d / PPM,
      list_usd: usdNumber(group.list_usd),
    }));
  return { object: 'limit_usage', data, outside, error };
}

/** The longer window is too coarse for a fit of its own where there is a shorter one. Loads the fit. */
async function sharesOf(
  five: readonly LimitPoint[],
  seven: readonly LimitPoint[],
  requests: readonly LoginRequest[],
  since: number,
): Promise<Shares> {
  const { shareOut, shareOutAs } = await import('../../store/limits/share-out.ts');
  const share_5h = five.length > 0 ? shareOut(five, requests, since) : undefined;
  if (seven.length === 0) return { share_5h, share_7d: undefined };
  const share_7d = share_5h ? shareOutAs(share_5h, seven, requests, since) : shareOut(seven, requests, since);
  return { share_5h, share_7d };
}

/** Shares are in millionths and costs in nano-USD until all is summed. */
const emptyGroup = (key: string): Group => ({
  key: key || null,
  share_5h: 0,
  share_7d: 0,
  requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  list_usd: 0,
});

function addTo(group: Group, { inputTokens, outputTokens, costNanoUsd }: LoginRequest): void {
  group.requests++;
  group.input_tokens += inputTokens;
  group.output_tokens += outputTokens;
  group.list_usd += costNanoUsd;
}
