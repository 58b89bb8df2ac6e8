import { describe, expect, test } from 'vitest';
import { wrapMessage } from '../../src/terminal/command-names.ts';

const BUDGET =
  'Budget default/daily: $0.000055 spent of $0.00010, alert at 80%, resets 00:00 (UTC). It applies from now on.';

describe('wrapMessage()', () => {
  test('breaks a line between words', () => {
    expect(wrapMessage(BUDGET, 40, 'gw').split('\n')).toEqual([
      'Budget default/daily: $0.000055 spent of',
      '$0.00010, alert at 80%, resets 00:00',
      '(UTC). It applies from now on.',
    ]);
  });

  test('leaves short lines and indented lines unchanged', () => {
    expect(wrapMessage(BUDGET, BUDGET.length, 'gw')).toBe(BUDGET);
    expect(wrapMessage(`gw:\n  ${BUDGET}\n`, 40, 'gw')).toBe(`gw:\n  ${BUDGET}\n`);
  });

  test.each(['gw', './bin/gw'])('keeps a command of %s on one line, even if it is too long', (gw) => {
    const command = `${gw} budget set 0.0004 --period daily -p default`;
    expect(wrapMessage(`No room is left here. To raise the cap: ${command}. It helps.`, 40, gw)).toBe(
      `No room is left here. To raise the cap:\n${command}.\nIt helps.`,
    );
    expect(wrapMessage(`A key for a client: ${gw} keys create   (or: ${gw} env)`, 40, gw)).toBe(
      `A key for a client: ${gw} keys create\n(or: ${gw} env)`,
    );
  });

  test('keeps separate commands, and eval expressions, on one line', () => {
    const next = 'Created project web. Next: eval "$(./bin/gw env -p web)"   ./bin/gw budget set 5 -p web';
    expect(wrapMessage(next, 80, './bin/gw').split('\n')).toEqual([
      'Created project web. Next: eval "$(./bin/gw env -p web)"',
      './bin/gw budget set 5 -p web',
    ]);
    expect(wrapMessage(next, 30, './bin/gw').split('\n')).toEqual([
      'Created project web. Next:',
      'eval "$(./bin/gw env -p web)"',
      './bin/gw budget set 5 -p web',
    ]);
  });

  test('keeps quoted arguments and no-break spaces together', () => {
    const command = `'/home/me/my gw/bin/gw' config set aliases.fast "a, b | c (d)"`;
    expect(wrapMessage(`To set it: ${command}, or not.`, 30, `'/home/me/my gw/bin/gw'`)).toBe(
      `To set it:\n${command},\nor not.`,
    );
    expect(wrapMessage('there is no file a\u00a0b.txt here', 20, 'gw')).toBe(
      'there is no file\na\u00a0b.txt here',
    );
  });

  test('never breaks within a word', () => {
    const path = '/a/path/that/is/longer/than/the/whole/line/of/the/terminal';
    expect(wrapMessage(`gw: cannot open ${path} now`, 40, 'gw')).toBe(`gw: cannot open\n${path}\nnow`);
  });
});
