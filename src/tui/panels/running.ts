import { formatUsd } from '../../money.ts';
import type { DashboardReading } from '../../operations/reader.ts';
import { NO_STREAM } from '../../store/dashboard/running.ts';
import { type Look, MARKS, styleOf } from '../../terminal/look.ts';
import { tokens } from '../../terminal/numbers.ts';
import { servedBy, shortRepo } from '../../terminal/request-words.ts';
import { type Cell, lineOf } from '../../terminal/styled-lines.ts';
import { tookText } from '../../terminal/time.ts';
import { type Area, section } from './lines.ts';

interface RunningProps extends Area {
  /** The longest first. */
  running: DashboardReading['running'];
  /** Requests that wait for room in a budget, the longest first. */
  waiting: DashboardReading['waiting'];
  now: number;
  /** Whether the daemon that ran them is gone. */
  isOver: boolean;
  focused: boolean;
}

const WIDTHS = { mark: 2, took: 6, amount: 9, speed: 9 };
const SPEED_FROM = 56;

/** The requests that run or wait: for how long, what they hold or need, and whose they are. */
export function drawRunning({ running, waiting, now, isOver, focused, ...area }: RunningProps): string[] {
  const { width, height, look } = area;
  const rows = [
    ...waiting.map((row) => ({
      ...row,
      ...NO_STREAM,
      mark: MARKS.warn,
      amount: row.neededNanoUsd,
      style: look.palette.warn,
    })),
    ...running.map((row) => ({
      ...row,
      mark: MARKS.none,
      amount: row.usedNanoUsd ?? row.heldNanoUsd,
      style: row.usedNanoUsd === null ? look.palette.held : look.palette.accent,
    })),
  ];
  // Only streams have a speed, and only while the daemon says it.
  const isFast = running.some(({ tokensPerSecond }) => tokensPerSecond !== null);
  const speed = isFast && width >= SPEED_FROM ? WIDTHS.speed + 1 : 0;
  const room = width - WIDTHS.mark - WIDTHS.took - WIDTHS.amount - speed - 4;
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
        {
          text: `${row.usedNanoUsd === null ? '' : '~'}${formatUsd(amount)}`,
          ...{ width: WIDTHS.amount, align: 'right', style },
        },
        ...(speed === 0 ? [] : [speedCell(row, look)]),
        { text: servedBy(row), width: model },
        { text: whose(row), width: room - model, style: look.palette.dim },
      ],
      look,
    ),
  );
  const held = running.reduce((sum, { heldNanoUsd }) => sum + heldNanoUsd, 0);
  const waits = waiting.length > 0 ? `, ${waiting.length} wait for room in a budget` : '';
  const all = running.reduce((sum, { tokensPerSecond }) => sum + (tokensPerSecond ?? 0), 0);
  const rate = isFast && !isOver ? `, ${tokens(all)} tok/s` : '';
  const title = `${isOver ? 'RAN WHEN gw STOPPED' : 'RUNNING'} (${running.length}, hold ${formatUsd(held)}${rate}${waits})`;
  return section({ ...area, title, focused, lines });
}

function speedCell(
  { tokensPerSecond }: Pick<DashboardReading['running'][number], 'tokensPerSecond'>,
  look: Look,
): Cell {
  const text = tokensPerSecond === null ? '' : `${tokens(tokensPerSecond)} tok/s`;
  return { text, width: WIDTHS.speed, align: 'right', style: look.palette.dim };
}

type Origin = Pick<RunningProps['running'][number], 'project' | 'agent' | 'process' | 'repo'>;

function whose({ project, agent, process, repo }: Origin): string {
  const from = agent || process;
  return [project, from, shortRepo(repo)].filter((each) => each !== '').join('  ');
}
