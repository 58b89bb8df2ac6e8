import type { CountedRow, Tokens } from '../../insight/reconcile/compare-tokens.ts';
import type { ReconciledTotal } from '../../insight/reconcile/reconcile.ts';
import { formatUsd, NANO_PER_USD } from '../../money.ts';
import { count } from '../../terminal/numbers.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';

interface Reconciliation {
  provider: string;
  from: string;
  to: string;
  data: CountedRow[];
  total: ReconciledTotal;
}

const WORDS = {
  agrees: 'agrees',
  differs: 'differs',
  only_billed: 'only billed',
  only_booked: 'only in gw',
} as const;

const usd = (amount: number) => formatUsd(Math.round(amount * NANO_PER_USD));

function whyOf({ partial, because, ledger_tokens: ledger, billed_tokens: billed }: CountedRow): string {
  if (partial) return ' (day not over)';
  if (because === 'price') return ' (same tokens)';
  return because === 'tokens' && ledger && billed
    ? ` (${tokensText(ledger)}, billed ${tokensText(billed)})`
    : '';
}

const tokensText = ({ input, output }: Tokens) => `${count(input)} in ${count(output)} out`;

/** The comparison for people: a row a day and model, then what it comes to. */
export function reconciliationText(
  { provider, from, to, data, total }: Reconciliation,
  terminal: Terminal,
): string {
  const span = `${from} to ${to} (UTC)`;
  if (data.length === 0) return `Neither gw nor ${provider} has costs, ${span}`;
  const { palette } = terminal;
  const columns: Column<CountedRow>[] = [
    { header: 'day', value: ({ day }) => day },
    { header: 'model', value: ({ model }) => model, shrinks: true },
    { header: 'gw', value: ({ ledger_usd }) => usd(ledger_usd), align: 'right' },
    { header: provider, value: ({ billed_usd }) => usd(billed_usd), align: 'right' },
    {
      header: '',
      value: (row) => `${WORDS[row.state]}${whyOf(row)}`,
      style: (text, { state }) => (state === 'agrees' ? palette.dim(text) : text),
    },
  ];
  const { agrees, differs, only_billed, only_booked } = total;
  return [
    ...table(data, columns, { terminal }),
    '',
    `${span}: gw ${usd(total.ledger_usd)}, ${provider} ${usd(total.billed_usd)}`,
    `${agrees} agree, ${differs} differ, ${only_billed} only billed, ${only_booked} only in gw`,
  ].join('\n');
}
