import type { RequestView } from '../../operations/schemas/requests.ts';
import { tokens } from '../../terminal/numbers.ts';
import { costOf, feedFieldsOf, mark, modelName } from '../../terminal/request-words.ts';
import { timeColumn, tookText } from '../../terminal/time.ts';
import { type Column, Table } from '../parts/table.tsx';
import { hrefOf } from '../state/address.ts';
import { useGateway } from '../state/gateway.ts';

type RequestRow = { id: string } & Omit<ReturnType<typeof feedFieldsOf>, 'provider' | 'askedModel'>;

export const rowOf = (request: RequestView): RequestRow => ({
  ...feedFieldsOf(request),
  id: request.id,
  model: modelName(feedFieldsOf(request)),
});

const TONES: Record<string, string> = { X: 'bad', '!': 'warn' };

/** How a request ended: its word, and why it failed. */
function Outcome({ row }: { row: RequestRow }) {
  const words = row.outcome.replaceAll('_', ' ');
  const why = row.error === null || row.outcome === 'ok' ? '' : `: ${row.error.replaceAll('_', ' ')}`;
  return <span className={TONES[mark(row)]}>{`${words}${why}`}</span>;
}

export function RequestTable({ caption, rows }: { caption: string; rows: readonly RequestRow[] }) {
  const { times, now } = useGateway();
  const timeText = timeColumn(
    rows.map(({ timeMs }) => timeMs),
    times,
    now,
  );
  const columns: Column<RequestRow>[] = [
    { head: 'time', cell: (row) => <a href={hrefOf('requests', {}, row.id)}>{timeText(row.timeMs)}</a> },
    { head: 'project', cell: (row) => row.project, isExtra: true },
    { head: 'model', cell: (row) => row.model || '-' },
    { head: 'outcome', cell: (row) => <Outcome row={row} /> },
    { head: 'in', cell: (row) => tokens(row.inputTokens), isNumber: true, isExtra: true },
    { head: 'out', cell: (row) => tokens(row.outputTokens), isNumber: true, isExtra: true },
    { head: 'cost', cell: costOf, isNumber: true },
    { head: 'took', cell: (row) => tookText(row.durationMs), isNumber: true, isExtra: true },
  ];
  return <Table caption={caption} columns={columns} rows={rows} keyOf={({ id }) => id} />;
}
