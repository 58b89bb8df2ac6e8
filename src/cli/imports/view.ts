import { formatUsd } from '../../money.ts';
import { count, plural } from '../../terminal/numbers.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { ImportRow } from './import-source.ts';

/** Line numbers that are named of one file. */
const MAX_LINES = 8;

const COLUMNS: Column<ImportRow>[] = [
  { header: 'source', value: ({ source }) => source },
  { header: 'files', value: ({ files }) => count(files), align: 'right' },
  { header: 'lines', value: ({ lines }) => count(lines), align: 'right' },
  { header: 'imported', value: ({ imported }) => count(imported), align: 'right' },
  { header: 'imported before', value: (row) => count(row.already_imported), align: 'right' },
  { header: 'through gw', value: (row) => count(row.already_in_ledger), align: 'right' },
  { header: 'cost', value: costOf, align: 'right' },
];

/** `+?` after an amount stands for requests without a known price. */
function costOf({ cost_nano_usd: cost, unpriced, imported }: ImportRow): string {
  if (unpriced === 0) return formatUsd(cost);
  return unpriced === imported ? 'unpriced' : `${formatUsd(cost)}+?`;
}

/** The import for people: a row a source, then what was left out. */
export function importText(rows: readonly ImportRow[], terminal: Terminal): string {
  if (rows.length === 0) return 'Found no session logs. To import one: gw import FILE';
  const imported = rows.reduce((sum, row) => sum + row.imported, 0);
  const unpriced = rows.reduce((sum, row) => sum + row.unpriced, 0);
  const remarks = [
    ...rows.flatMap(({ damaged }) => damaged.map(damagedText)),
    ...rows.flatMap((row) => row.unread_files.map((file) => `can't read ${file}, left out`)),
    ...(unpriced > 0
      ? [`${plural(unpriced, 'request')} of unknown price: gw prices set MODEL --input X --output Y`]
      : []),
  ];
  const { dim } = terminal.palette;
  return [
    ...table([...rows], COLUMNS, { terminal }),
    ...(remarks.length > 0 ? ['', ...remarks.map(dim)] : []),
    ...(imported > 0
      ? ['', 'Imported requests are at list price and count in no budget. See: gw usage --source imported']
      : []),
  ].join('\n');
}

function damagedText({ file, lines }: ImportRow['damaged'][number]): string {
  const named = lines.slice(0, MAX_LINES).join(', ');
  const more = lines.length > MAX_LINES ? ', ...' : '';
  return `${plural(lines.length, 'damaged line')} in ${file}, left out: ${named}${more}`;
}
