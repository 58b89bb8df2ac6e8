import { createCalendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { GwError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { decodeDashboard } from '../operations/dashboard-wire.ts';
import type { DashboardFeed, Follower, Polling } from '../operations/reader.ts';
import { OPERATIONS, type Operations, type Reader } from '../operations/registry.ts';
import type { DashboardView, WhoamiView } from '../operations/schemas/dashboard.ts';
import type { RequestConditions, RequestView } from '../operations/schemas/requests.ts';
import { timeText } from '../operations/times.ts';
import type { AskRemote, RemoteRequest } from './client.ts';

/** The most requests that the API returns at once. */
const MAX_PAGE_SIZE = 1_000;

/**
 * Another gw, through its HTTP API. The client has checked that a gw of a known version answers; a test validates its
 * answers against the schemas.
 */
export function createRemoteReader(
  ask: AskRemote,
  clock: Pick<Clock, 'now'>,
  pageSize = MAX_PAGE_SIZE,
): Reader {
  const operations = Object.fromEntries(
    Object.entries(OPERATIONS).map(([name, [route]]) => [
      name,
      async (input = {}) => {
        const answer = await ask(requestOf(route, input));
        const isList = isObject(answer) && answer.object === 'list' && !('next_cursor' in answer);
        return isList ? answer.data : answer;
      },
    ]),
  ) as unknown as Operations;

  const requests: Polling['requests'] = async ({ limit, ...query }) => {
    const found: RequestView[] = [];
    let { cursor } = query;
    while (found.length < limit) {
      const page = await operations.requestPage({
        ...query,
        limit: Math.min(pageSize, limit - found.length),
        cursor,
      });
      found.push(...page.data);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    return found;
  };

  let gateway: Promise<unknown> | undefined;
  const polling: Polling = {
    async calendar() {
      gateway ??= ask({ path: '/v1/gw/whoami' });
      return createCalendar(((await gateway) as WhoamiView).timezone);
    },
    requests,
    followRequests: (filter) => followRemote({ ask, requests, clock }, filter),
    dashboard: async () => remoteDashboard(ask),
  };
  return Object.assign(operations, polling);
}

/** Fields that the path names go into it, the others into the query or the body. */
function requestOf(route: string, input: object): RemoteRequest {
  const fields = new Map<string, unknown>(Object.entries(input));
  const [method, pattern = ''] = route.split(' ') as [RemoteRequest['method'] & string, string];
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = fields.get(name);
    fields.delete(name);
    return encodeURIComponent(String(value));
  });
  if (fields.size === 0) return { method, path };
  // The one POST whose fields select what it changes.
  const hasBody = /^P/.test(method) && !path.endsWith('/replay-failed');
  return { method, path, [hasBody ? 'body' : 'query']: Object.fromEntries(fields) };
}

/** Polls the dashboard of another gw, which sends its data only after a change. */
function remoteDashboard(ask: AskRemote): DashboardFeed {
  /** The window and filter of the last answer, and its version. */
  let last: { view: string; version: string } | undefined;
  return {
    changed: () => true,
    async read({ window, filter, by }) {
      const view = JSON.stringify([window, filter, by]);
      const unless = last?.view === view ? last.version : undefined;
      const query = { window, kind: filter.kind, text: filter.text || undefined, by, unless };
      // `data` is null if the version is the one that was asked about.
      const { version, data } = (await ask({ path: '/v1/gw/dashboard', query })) as {
        version: string;
        data: DashboardView | null;
      };
      last = { view, version };
      return data === null ? undefined : decodeDashboard(data);
    },
  };
}

/** How many requests are read after a restart of the server, which knows no cursor from before. */
const MAX_MISSED = 1_000;

/** Follows the requests of another gw, which keeps what it has sent to each cursor. */
async function followRemote(
  { ask, requests, clock }: { ask: AskRemote; requests: Polling['requests']; clock: Pick<Clock, 'now'> },
  filter: Pick<RequestConditions, 'project_id' | 'status'>,
): Promise<Follower<RequestView>> {
  const poll = async (cursor?: string) =>
    (await ask({ path: '/v1/gw/tail', query: { ...filter, cursor } })) as {
      data: RequestView[];
      next_cursor: string;
    };
  let { next_cursor: cursor } = await poll();
  let polledAt = clock.now();
  return {
    async next() {
      const since = polledAt;
      polledAt = clock.now();
      try {
        const answer = await poll(cursor);
        cursor = answer.next_cursor;
        return answer.data;
      } catch (error) {
        if (!(error instanceof GwError && error.code === 'cursor_expired')) throw error;
        ({ next_cursor: cursor } = await poll());
        return (await requests({ ...filter, since: timeText(since), limit: MAX_MISSED })).reverse();
      }
    },
  };
}
