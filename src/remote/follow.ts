import type { Clock } from '../clock.ts';
import { GwError } from '../errors.ts';
import type { Follower, Reader, RequestsFilter } from '../reading/reader.ts';
import type { RequestView } from '../reading/schemas.ts';
import type { AskRemote } from './client.ts';

interface Source {
  ask: AskRemote;
  requests: Reader['requests'];
  clock: Pick<Clock, 'now'>;
}

interface Answer {
  data: RequestView[];
  next_cursor: string;
}

/** How many requests are read after a restart of the server, which knows no cursor from before. */
const MAX_MISSED = 1_000;

/** Follows the requests of another gw, which keeps what it has sent to each cursor. */
export async function followRemote(
  { ask, requests, clock }: Source,
  filter: Pick<RequestsFilter, 'project' | 'status'>,
): Promise<Follower<RequestView>> {
  const query = { project_id: filter.project, status: filter.status };
  const poll = async (cursor?: string) =>
    (await ask({ path: '/v1/gw/tail', query: { ...query, cursor } })) as Answer;
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
        return (await requests({ ...filter, since, limit: MAX_MISSED })).reverse();
      }
    },
  };
}
