import { formatUsd } from '../../money.ts';
import type { DashboardView } from '../../operations/schemas/dashboard.ts';
import { originText, servedBy } from '../../terminal/request-words.ts';
import { tookText } from '../../terminal/time.ts';
import { Section } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useGateway } from '../state/gateway.ts';

type Row = Omit<DashboardView['waiting'][number], 'needed_nano_usd'>;

/** The requests that run, and those that wait for room in a budget; nothing without one. */
export function Running({ running, waiting }: Pick<DashboardView, 'running' | 'waiting'>) {
  return (
    <>
      <Unfinished title="Running" rows={running} amount={['holds', ({ held_nano_usd }) => held_nano_usd]} />
      <Unfinished
        title="Waiting"
        rows={waiting}
        amount={['needs', ({ needed_nano_usd }) => needed_nano_usd]}
      />
    </>
  );
}

interface UnfinishedProps<T> {
  title: string;
  rows: readonly T[];
  amount: [string, (row: T) => number];
}

function Unfinished<T extends Row>({ title, rows, amount: [head, nanoUsd] }: UnfinishedProps<T>) {
  const { now } = useGateway();
  if (rows.length === 0) return null;
  const columns: Column<T>[] = [
    { head: 'for', cell: ({ time_ms }) => tookText(Math.max(0, now - time_ms)), isNumber: true },
    { head: 'project', cell: ({ project }) => project, isExtra: true },
    { head: 'model', cell: servedBy },
    { head: 'from', cell: (row) => row.agent || originText(row), isExtra: true },
    { head, cell: (row) => formatUsd(nanoUsd(row)), isNumber: true },
  ];
  return (
    <Section title={title}>
      <Table caption={`${title} requests`} columns={columns} rows={rows} keyOf={({ id }) => id} />
    </Section>
  );
}
