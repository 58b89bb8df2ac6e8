import type { CacheView } from '../../operations/schemas/cache.ts';
import { count, tokens, usdText } from '../../terminal/numbers.ts';
import { missCause, missPlace } from '../../terminal/request-words.ts';
import { Choice } from '../parts/choice.tsx';
import { Empty, Figures, Loaded, Section } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { type Address, hrefOf } from '../state/address.ts';
import { useGateway } from '../state/gateway.ts';
import { useReading } from '../state/use-reading.ts';

type Miss = CacheView['data'][number];

const DAYS = ['1 day', '7 days', '30 days'] as const;
const PAGE = 1_000;
const DAY_MS = 86_400_000;

export function Cache({ address }: { address: Address }) {
  const { today } = useGateway();
  const days = DAYS.find((each) => each === address.parameters.days) ?? '7 days';
  const since = new Date(Date.parse(today) - (Number.parseInt(days, 10) - 1) * DAY_MS).toISOString();
  const { session } = address.parameters;
  const known = useReading('GET /v1/gw/cache', { since, limit: PAGE, ...(session ? { session } : {}) });
  return (
    <Section
      title="What providers' caches could have served"
      aside={<Choice name="days" choices={DAYS} value={days} />}
    >
      <Loaded known={known}>{(report) => <Report report={report} />}</Loaded>
    </Section>
  );
}

function Report({ report: { data, total } }: { report: CacheView }) {
  if (total.requests === 0) return <Empty command="gw cache">No cache was missed in these days.</Empty>;
  const causes = causesOf(data);
  const byCause: Column<(typeof causes)[number]>[] = [
    { head: 'cause', cell: ({ cause }) => missCause(cause) },
    { head: 'requests', cell: ({ requests }) => count(requests), isNumber: true },
    { head: 'tokens', cell: ({ missed }) => tokens(missed), isNumber: true },
    { head: 'extra cost', cell: ({ usd }) => usdText(usd), isNumber: true },
  ];
  const each: Column<Miss>[] = [
    { head: 'request', cell: ({ request_id: id }) => <a href={hrefOf('requests', {}, id)}>{id}</a> },
    {
      head: 'session',
      cell: ({ session_id: id }) => (id === null ? '-' : <a href={hrefOf('sessions', {}, id)}>{id}</a>),
      isExtra: true,
    },
    { head: 'cause', cell: ({ cause }) => missCause(cause) },
    { head: 'first difference', cell: missPlace, isExtra: true },
    { head: 'tokens', cell: ({ missed_tokens: missed }) => tokens(missed), isNumber: true },
    { head: 'extra cost', cell: ({ missed_usd: usd }) => usdText(usd), isNumber: true },
  ];
  return (
    <>
      <Figures
        figures={[
          { label: 'extra cost', value: usdText(total.missed_usd) },
          { label: 'tokens', value: tokens(total.missed_tokens) },
          { label: 'requests', value: count(total.requests) },
        ]}
      />
      <Table caption="Misses by cause" columns={byCause} rows={causes} keyOf={({ cause }) => cause} />
      <h3 className="unseen">The newest</h3>
      <Table caption="Misses" columns={each} rows={data.slice(0, 100)} keyOf={({ request_id: id }) => id} />
    </>
  );
}

/** The listed misses by cause, the dearest first. */
function causesOf(misses: readonly Miss[]) {
  const causes = new Map<
    Miss['cause'],
    { cause: Miss['cause']; requests: number; missed: number; usd: number }
  >();
  for (const { cause, missed_tokens, missed_usd } of misses) {
    const sum = causes.get(cause) ?? { cause, requests: 0, missed: 0, usd: 0 };
    causes.set(cause, {
      ...{ cause, requests: sum.requests + 1 },
      ...{ missed: sum.missed + missed_tokens, usd: sum.usd + missed_usd },
    });
  }
  return [...causes.values()].sort((a, b) => b.usd - a.usd);
}
