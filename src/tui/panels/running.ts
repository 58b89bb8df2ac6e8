import { formatUsd } from '../../money.ts';
import type { DashboardReading } from '../../operations/reader.ts';
import { MARKS, styleOf } from '../../terminal/look.ts';
import { servedBy, shortRepo } from '../../terminal/request-words.ts';
import { lineOf } from '../../terminal/styled-lines.ts';
import { tookText } from '../../terminal/time.ts';
import { type Area, section } from './lines.ts';

interface RunningProps extends Area {
  /** The longest first. */
  running: DashboardReading['running'];
  /** Requests that wait for room in a budget, the longest first. */
  waiting: DashboardReading['waiting'];
  now: number;
  focused: boolean;
}

const WIDTHS = { mark: 2, took: 6, amount: 9 };

/** The requests that run or wait: for how long, what they hold or need, and whose they are. */
export function drawRunning({ running, waiting, now, focused, ...area }: RunningProps): string[] {
  const { width, height, look } = area;
  const rows = [
    ...waiting.map((row) => ({
      ...row,
      mark: MARKS.warn,
      amount: row.neededNanoUsd,
      style: look.palette.warn,
    })),
    ...running.map((row) => ({
      ...row,
      mark: MARKS.none,
      amount: row.heldNanoUsd,
      style: look.palette.held,
    })),
  ];
  const room = width - WIDTHS.mark - WIDTHS.took - WIDTHS.amount - 4;
  const model = Math.min(36, Math.ceil(room * 0.55));
  const lines = rows.slice(0, height - 1).map(({ mark, amount, style, ...row }) =>
    lineOf(
      [
        { text: ` ${mark}`, width: WIDTHS.mark, style: styleOf(mark, look) },
        {
          text: tookText(Math.max(0, now - row.timeMs)),
          width: WIDTHS.took,
          align: 'right',
          style: look.palette.bold,
        },
        { text: formatUsd(amount), width: WIDTHS.amount, align: 'right', style },
        { text: servedBy(row), width: model },
        { text: whose(row), width: room - model, style: look.palette.dim },
      ],
      look,
    ),
  );
  const held = running.reduce((sum, { heldNanoUsd }) => sum + heldNanoUsd, 0);
  const waits = waiting.length > 0 ? `, ${waiting.length} wait for room in a budget` : '';
  const title = `RUNNING (${running.length}, hold ${formatUsd(held)}${waits})`;
  return section({ ...area, title, focused, lines });
}

type Origin = Pick<RunningProps['running'][number], 'project' | 'agent' | 'process' | 'repo'>;

function whose({ project, agent, process, repo }: Origin): string {
  const from = agent || process;
  return [project, from, shortRepo(repo)].filter((each) => each !== '').join('  ');
}
