import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { startWeek, WEEK_END } from '../page/support/week.ts';
import { openTerminal } from '../support/tmux.ts';
import { screenSvg } from './support/screen-svg.ts';

const FOLDER = join(import.meta.dirname, '../../docs/pictures');
const AT = join(import.meta.dirname, 'support/at.mjs');

const TOP = { command: 'top', size: [120, 36], ready: /running.*tools changed/s } as const;
const PICTURES = [
  { name: 'top-dark', face: 'dark', ...TOP },
  { name: 'top-light', face: 'light', ...TOP },
  {
    name: 'usage-chart',
    face: 'dark',
    command: 'usage --chart --from 6d',
    size: [80, 24],
    ready: /gpt-5-mini/,
  },
] as const;

test('the pictures of the terminal, from a scripted week', async () => {
  const { gateway } = await startWeek();
  const { port } = new URL(gateway.origin);
  const home = {
    // The commands ask this port whether gw runs.
    ...{ GW_HOME: gateway.paths.home, GW_PORT: port, PATH: process.env.PATH ?? '', HOME: '/home/ada' },
  };
  for (const { name, face, command, size, ready } of PICTURES) {
    const [columns, rows] = size;
    gateway.configure({ 'dashboard.background': face });
    const env = { ...home, FORCE_COLOR: '3' };
    const terminal = await openTerminal({ columns, rows, env });
    await terminal.type(`clear; ${process.execPath} ${AT} ${WEEK_END} ${command}`);
    await terminal.press('Enter');
    await terminal.until(ready);
    const screen = (await terminal.colouredScreen())
      .replace(/localhost:\d+ {2}pid \d+( {2}up \w+)/, (own, up) =>
        `localhost:4747  pid 2026${up}`.padEnd(own.length),
      )
      .split('\n')
      .filter((line) => !/^\$ /.test(line));
    const label = `gw ${command}`;
    writeFileSync(join(FOLDER, `${name}.svg`), screenSvg(screen.join('\n'), { columns, face, label }));
    await terminal.close();
  }
});
