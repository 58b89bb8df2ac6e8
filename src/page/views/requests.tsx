import { formatUsd } from '../../money.ts';
import type { RequestView } from '../../operations/schemas/requests.ts';
import { factsOf } from '../../terminal/request-facts.ts';
import { costOf } from '../../terminal/request-words.ts';
import { tookText } from '../../terminal/time.ts';
import { Filters } from '../parts/filters.tsx';
import { Command, Empty, Facts, Figures, Loaded, Section } from '../parts/layout.tsx';
import { type Address, CONDITIONS, hrefOf } from '../state/address.ts';
import { useGateway } from '../state/gateway.ts';
import { requestsOf } from '../state/questions.ts';
import { useReading } from '../state/use-reading.ts';
import { RequestTable, rowOf } from './request-table.tsx';

export function Requests({ address }: { address: Address }) {
  return address.id === undefined ? <List address={address} /> : <Detail id={address.id} />;
}

function List({ address }: { address: Address }) {
  const { cursor } = address.parameters;
  const known = useReading(...requestsOf(address));
  return (
    <>
      <Filters names={CONDITIONS} address={address} />
      <Loaded known={known}>
        {({ data, next_cursor: next }) =>
          data.length === 0 ? (
            <Empty command="gw requests">No request matches. In a terminal:</Empty>
          ) : (
            <>
              <RequestTable caption="Requests" rows={data.map(rowOf)} />
              <p className="pages">
                {cursor ? (
                  <a href={hrefOf('requests', { ...address.parameters, cursor: undefined })}>Newest</a>
                ) : null}
                {next ? (
                  <a href={hrefOf('requests', { ...address.parameters, cursor: next })}>Older</a>
                ) : null}
              </p>
            </>
          )
        }
      </Loaded>
    </>
  );
}

function Detail({ id }: { id: string }) {
  const known = useReading('GET /v1/gw/requests/{id}', { id });
  return <Loaded known={known}>{(request) => <One request={request} />}</Loaded>;
}

function One({ request }: { request: RequestView }) {
  const { times } = useGateway();
  const { cost_nano_usd: costNanoUsd, flags, duration_ms: took, session_id: session } = request;
  const remedy = remedyOf(request);
  return (
    <>
      <p className="pages">
        <a href={hrefOf('requests')}>All requests</a>
        {session === null ? null : <a href={hrefOf('sessions', {}, session)}>Its session</a>}
      </p>
      <Figures
        figures={[
          { label: 'cost', value: costOf({ costNanoUsd, flags }) },
          { label: 'held', value: formatUsd(request.held_nano_usd) },
          {
            label: 'outcome',
            value: request.outcome.replaceAll('_', ' '),
            note: request.status === 0 ? undefined : `HTTP ${request.status}`,
            mark: request.outcome === 'ok' ? undefined : request.outcome === 'blocked' ? 'bad' : 'warn',
          },
          { label: 'took', value: tookText(took) },
        ]}
      />
      {remedy === undefined ? null : (
        <Section title="What helps">
          <Command text={remedy} />
        </Section>
      )}
      <Stages request={request} />
      <Section title="Record">
        <Facts facts={factsOf(request, times)} />
      </Section>
    </>
  );
}

/** The command that lets the next request like it through. */
function remedyOf({ outcome, detail, asked_model: model }: RequestView): string | undefined {
  if (detail.error === 'price_unknown') return `gw prices set ${model} --input 1 --output 2`;
  if (outcome === 'blocked' && typeof detail.budget === 'string') return `gw budget raise ${detail.budget} 5`;
  return undefined;
}

const STAGES = ['reading', 'compressing', 'admitting', 'sending', 'provider', 'answering'] as const;

/** The stages of a request as parts of its time. */
function Stages({ request: { timings, first_byte_ms: first, duration_ms: took } }: { request: RequestView }) {
  const ends = [timings.body_ms, timings.compressed_ms, timings.held_ms, timings.sent_ms, first, took];
  if (timings.body_ms === null || took <= 0) return null;
  let from = 0;
  const parts = STAGES.flatMap((name, i) => {
    const end = ends[i];
    if (end === null || end === undefined) return [];
    const part = { name, from, ms: Math.max(0, end - from), layer: i + 1 };
    from = Math.max(from, end);
    return [part];
  });
  return (
    <Section title="Stages">
      <svg
        className="stages"
        role="img"
        aria-label="Time of each stage"
        preserveAspectRatio="none"
        viewBox="0 0 100 8"
      >
        <title>Time of each stage</title>
        {parts.map(({ name, from: start, ms, layer }) => (
          <rect
            key={name}
            className={`c${layer}`}
            x={(start / took) * 100}
            width={(ms / took) * 100}
            height="8"
          />
        ))}
      </svg>
      <ul className="legend">
        {parts.map(({ name, ms, layer }) => (
          <li key={name}>
            <i className={`swatch c${layer}`} />
            {name} <b>{ms < 1 ? `${ms.toFixed(1)}ms` : tookText(ms)}</b>
          </li>
        ))}
      </ul>
    </Section>
  );
}
