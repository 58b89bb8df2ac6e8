import { formatUsd } from '../../money.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import type { SessionView } from '../../operations/schemas/usage.ts';
import { count, percent, tokens, usdText } from '../../terminal/numbers.ts';
import { missText, shortRepo } from '../../terminal/request-words.ts';
import { duration, timeColumn } from '../../terminal/time.ts';
import { Chart } from '../parts/chart.tsx';
import { Filters } from '../parts/filters.tsx';
import { Empty, Figures, Loaded, Section } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { type Address, change, hrefOf } from '../state/address.ts';
import { useGateway } from '../state/gateway.ts';
import { MOST_SESSIONS, sessionsOf } from '../state/questions.ts';
import { useReading } from '../state/use-reading.ts';
import { RequestTable, rowOf } from './request-table.tsx';

export function Sessions({ address }: { address: Address }) {
  return address.id === undefined ? <List address={address} /> : <Detail id={address.id} />;
}

const cacheShare = ({ input_tokens: input, cached_input_tokens: cached }: SessionView) =>
  input === 0 ? '-' : percent(cached / input);
const lasted = ({ first_at, last_at }: SessionView) => duration(Date.parse(last_at) - Date.parse(first_at));

function List({ address }: { address: Address }) {
  const { times, now } = useGateway();
  const asked = sessionsOf(address);
  const known = useReading(...asked);
  const limit = asked[1]?.limit ?? 0;
  return (
    <>
      <Filters names={['project_id', 'agent']} address={address} />
      <Loaded known={known}>
        {(sessions) => {
          const timeText = timeColumn(
            sessions.map(({ last_at }) => Date.parse(last_at)),
            times,
            now,
          );
          const columns: Column<SessionView>[] = [
            { head: 'last active', cell: ({ last_at }) => timeText(Date.parse(last_at)) },
            { head: 'session', cell: ({ id }) => <a href={hrefOf('sessions', {}, id)}>{id}</a> },
            {
              head: 'agent',
              cell: ({ agent: of, source }) =>
                source === 'imported' ? `${of}, imported` : (of ?? 'unknown'),
            },
            { head: 'repository', cell: ({ repo }) => shortRepo(repo ?? '-'), isExtra: true },
            { head: 'lasted', cell: lasted, isNumber: true, isExtra: true },
            { head: 'requests', cell: ({ requests }) => count(requests), isNumber: true, isExtra: true },
            { head: 'from cache', cell: cacheShare, isNumber: true },
            { head: 'cost', cell: ({ cost_nano_usd }) => formatUsd(cost_nano_usd), isNumber: true },
          ];
          if (sessions.length === 0)
            return <Empty command="gw run -- claude">No agent's session yet. To run one through gw:</Empty>;
          const keyOf = ({ project_id: of, agent: by, source, id }: SessionView) =>
            `${of} ${by} ${source} ${id}`;
          return (
            <>
              <Table caption="Sessions" columns={columns} rows={sessions} keyOf={keyOf} />
              {sessions.length === limit && limit < MOST_SESSIONS ? (
                <button type="button" onClick={() => change({ show: String(MOST_SESSIONS) })}>
                  Show {count(MOST_SESSIONS)}
                </button>
              ) : null}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Detail({ id }: { id: string }) {
  const sessions = useReading('GET /v1/gw/sessions/{id}', { id });
  const requests = useReading('GET /v1/gw/requests', { session: id, limit: MOST_SESSIONS });
  return (
    <>
      <p className="pages">
        <a href={hrefOf('sessions')}>All sessions</a>
      </p>
      <Loaded known={sessions}>
        {(found) =>
          found.map((session) => (
            <Section
              key={`${session.project_id} ${session.agent} ${session.source}`}
              title={`${session.agent ?? 'unknown'} ${id} in ${session.project_id}${session.source === 'imported' ? ', imported at list price' : ''}`}
            >
              <Figures
                figures={[
                  { label: 'cost', value: usdText(session.cost_usd) },
                  { label: 'from cache', value: cacheShare(session) },
                  { label: 'requests', value: count(session.requests) },
                  { label: 'lasted', value: lasted(session) },
                  {
                    label: 'project',
                    value: session.project_id,
                    note: shortRepo(session.repo ?? '') || undefined,
                  },
                ]}
              />
            </Section>
          ))
        }
      </Loaded>
      <Loaded known={requests}>{({ data }) => <Timeline requests={data.toReversed()} />}</Loaded>
    </>
  );
}

/** The prompt of each request, and what of it came from the cache. */
function Timeline({ requests }: { requests: readonly RequestView[] }) {
  const { times } = useGateway();
  if (requests.length === 0) return <Empty>None of its requests is on record any more.</Empty>;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const cached = requests.map(({ cached_input_tokens }) => cached_input_tokens);
  const fresh = requests.map(({ input_tokens, cached_input_tokens }) => input_tokens - cached_input_tokens);
  const layers = [
    { name: 'from cache', values: cached, total: sum(cached) },
    { name: 'in full', values: fresh, total: sum(fresh) },
  ];
  const misses = requests.flatMap((request) => {
    const text = missText(request.detail.cache_miss);
    return text === undefined ? [] : [{ id: request.id, at: Date.parse(request.created_at), text }];
  });
  return (
    <>
      <Section title="Prompt of each request, in tokens">
        <Chart
          label="Tokens of each prompt, from the cache and in full"
          places={requests.map(({ created_at }) => times.time(Date.parse(created_at)))}
          layers={layers}
          kind="bars"
          text={tokens}
        />
      </Section>
      {misses.length === 0 ? null : (
        <Section title="Cache misses">
          <ul className="ranks">
            {misses.map(({ id, at, text }) => (
              <li key={id}>
                <span>{text}</span>
                <a href={hrefOf('requests', {}, id)}>{times.time(at)}</a>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Requests">
        <RequestTable caption="Requests of the session" rows={requests.map(rowOf)} />
      </Section>
    </>
  );
}
