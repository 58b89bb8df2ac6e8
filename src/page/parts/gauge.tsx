import type { ReactNode } from 'preact/compat';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import { capText, forecastWords, mark, shareOf } from '../../terminal/budget-words.ts';
import { percent, usdText } from '../../terminal/numbers.ts';
import { useGateway } from '../state/gateway.ts';

const TONES: Record<string, string> = { X: 'bad', '!': 'warn' };

/** `bad` for a full budget, `warn` for one past its alert. */
export const toneOf = (budget: BudgetView): string => TONES[mark(budget)] ?? '';

interface BarProps {
  text: string;
  tone: string;
  /** Shares of the whole, 0 to 1. */
  spent: number;
  held?: number;
  /** Percent; a tick. */
  alert?: number;
}

/** How much of something is used. */
export function Bar({ text, tone, spent, held = 0, alert = 0 }: BarProps) {
  return (
    <svg
      className={`gauge ${tone}`}
      role="img"
      aria-label={text}
      preserveAspectRatio="none"
      viewBox="0 0 100 8"
    >
      <title>{text}</title>
      <rect className="rest" width="100" height="8" />
      <rect className="held" x={spent * 100} width={held * 100} height="8" />
      <rect className="spent" width={spent * 100} height="8" />
      {alert > 0 && alert < 100 ? <rect className="alert" x={alert} width="0.4" height="8" /> : null}
    </svg>
  );
}

/** What a budget has spent, and what running requests hold of it, with a tick at its alert. */
export function Gauge({ budget }: { budget: BudgetView }) {
  const { cap_nano_usd: cap, held_nano_usd: held, alert_percent: alert } = budget;
  const spent = Math.min(1, shareOf(budget));
  const holds = cap === 0 ? 0 : Math.min(1 - spent, held / cap);
  const text = `${percent(shareOf(budget))} spent${held > 0 ? `, ${percent(holds)} held` : ''}`;
  return <Bar text={text} tone={toneOf(budget)} spent={spent} held={holds} alert={alert} />;
}

/** The gauge, and what it shows in dollars. */
export function Spent({ budget, children }: { budget: BudgetView; children?: ReactNode }) {
  return (
    <>
      <Gauge budget={budget} />
      <small>
        {usdText(budget.spent_usd)} of {capText(budget)}
        {children}
      </small>
    </>
  );
}

/** The forecast in two words, such as `out ~15:40`. */
export function Forecast({ budget }: { budget: BudgetView }) {
  const { times, now } = useGateway();
  return <span className={toneOf(budget)}>{forecastWords(budget, times, now)}</span>;
}
