import { formatUsd } from '../../money.ts';
import type { DashboardView } from '../../operations/schemas/dashboard.ts';
import { originText, servedBy } from '../../terminal/request-words.ts';
import { tookText } from '../../terminal/time.ts';
import { Section } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useGateway } from '../state/gateway.ts';

type Row = DashboardView['running'][number];

/** The requests that run; nothing without one. */
export function Running({ rows }: { rows: readonly Row[] }) {
  const { now } = useGateway();
  if (rows.length === 0) return null;
  const columns: Column<Row>[] = [
    { head: 'for', cell: ({ time_ms }) => tookText(Math.max(0, now - time_ms)), isNumber: true },
    { head: 'project', cell: ({ project }) => project, isExtra: true },
    { head: 'model', cell: servedBy },
    { head: 'from', cell: (row) => row.agent || originText(row), isExtra: true },
    { head: 'holds', cell: ({ held_nano_usd }) => formatUsd(held_nano_usd), isNumber: true },
  ];
  return (
    <Section title="Running">
      <Table caption="Running requests" columns={columns} rows={rows} keyOf={({ id }) => id} />
    </Section>
  );
}
