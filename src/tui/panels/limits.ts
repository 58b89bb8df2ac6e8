import type { LimitWindowView } from '../../operations/schemas/limits.ts';
import { gauge } from '../../terminal/bars.ts';
import { ownersOf, paceText, windowMark, windowText } from '../../terminal/limit-words.ts';
import { MARKS, styleOf } from '../../terminal/look.ts';
import { percent } from '../../terminal/numbers.ts';
import { lineOf } from '../../terminal/styled-lines.ts';
import { widthOf } from '../../terminal/text.ts';
import { duration } from '../../terminal/time.ts';
import { type Area, section } from './lines.ts';

interface LimitsProps extends Area {
  windows: readonly LimitWindowView[];
  focused: boolean;
  now: number;
}

const WIDTHS = { mark: 2, percent: 4, resets: 9 };
const MIN_NAME = 8;
const MIN_BAR = 6;
const PACE_FROM = 54;

/** The windows of subscriptions: what is used, what the last hour's rate comes to, and the time to the reset. */
export function drawLimits({ windows, focused, now, ...area }: LimitsProps): string[] {
  const { width, height, look } = area;
  const ownerOf = ownersOf(windows);
  const shown = windows.slice(0, height - 1).map((each) => ({
    ...each,
    name: `${ownerOf(each)} ${windowText(each)}`,
    pace: width < PACE_FROM ? '' : ` ${paceText(each, look.times, now)}`,
  }));
  const most = (texts: readonly string[]) => Math.max(...texts.map(widthOf));
  const pace = most(shown.map((row) => row.pace));
  const room = width - WIDTHS.mark - WIDTHS.percent - WIDTHS.resets - pace - 5;
  const name = Math.min(most(shown.map((row) => row.name)), Math.max(MIN_NAME, room - MIN_BAR));
  const lines = shown.map((row) => {
    const sign = windowMark(row);
    const style = styleOf(sign, look);
    const bar = sign === MARKS.none ? look.palette.accent : style;
    const resets = row.resets_at === null ? '' : duration(Math.max(0, Date.parse(row.resets_at) - now));
    return lineOf(
      [
        { text: ` ${sign}`, width: WIDTHS.mark, style },
        { text: row.name, width: name },
        { text: gauge(row.used, room - name, look.symbols), width: room - name, style: bar },
        { text: percent(row.used), width: WIDTHS.percent, align: 'right' },
        { text: row.pace, width: pace, style },
        { text: resets, width: WIDTHS.resets, align: 'right' },
      ],
      look,
    );
  });
  const labels = 'resets in'.padStart(width);
  return section({ ...area, title: 'PLAN WINDOWS', labels, focused, lines });
}
