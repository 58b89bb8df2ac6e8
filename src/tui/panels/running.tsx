import { formatUsd } from '../../money.ts';
import type { DashboardReading } from '../../operations/reader.ts';
import { originText, servedBy, shortRepo } from '../../terminal/request-words.ts';
import { lineOf } from '../../terminal/styled-lines.ts';
import { tookText } from '../../terminal/time.ts';
import { type Area, Section } from './lines.tsx';

interface RunningProps extends Area {
  /** The longest first. */
  running: DashboardReading['running'];
  now: number;
  focused: boolean;
}

const WIDTHS = { took: 6, held: 9 };

/** The requests that run: for how long, what they hold, and whose they are. */
export function Running({ running, now, focused, ...area }: RunningProps) {
  const { width, height, look } = area;
  const room = width - WIDTHS.took - WIDTHS.held - 4;
  const model = Math.min(36, Math.ceil(room * 0.55));
  const lines = running.slice(0, height - 1).map((row) =>
    lineOf(
      [
        { text: '', width: 0 },
        {
          text: tookText(Math.max(0, now - row.timeMs)),
          width: WIDTHS.took,
          align: 'right',
          style: look.palette.bold,
        },
        { text: formatUsd(row.heldNanoUsd), width: WIDTHS.held, align: 'right', style: look.palette.held },
        { text: servedBy(row), width: model },
        { text: whose(row), width: room - model, style: look.palette.dim },
      ],
      look,
    ),
  );
  const held = running.reduce((sum, { heldNanoUsd }) => sum + heldNanoUsd, 0);
  const title = `RUNNING (${running.length}, hold ${formatUsd(held)})`;
  return <Section {...area} title={title} focused={focused} lines={lines} />;
}

function whose({ project, agent, process, repo }: RunningProps['running'][number]): string {
  const from = agent || originText({ process, repo: '' });
  return [project, from, shortRepo(repo)].filter((each) => each !== '' && each !== '-').join('  ');
}
