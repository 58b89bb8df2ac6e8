import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPlanWindows } from '../../src/providers/plan-windows.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const HOUR = 3_600;
const SECONDS = NOW / 1_000;

const claude = (headers: Record<string, string>) => readPlanWindows('claude', unified(headers), NOW);
const chatgpt = (headers: Record<string, string>) =>
  readPlanWindows(
    'chatgpt',
    Object.entries(headers).flatMap(([name, value]) => [`x-codex-${name}`, value]),
    NOW,
  );

function unified(headers: Record<string, string>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => [
    name === 'date' ? name : `anthropic-ratelimit-unified-${name}`,
    value,
  ]);
}

const FIVE = { '5h-utilization': '0.31', '5h-reset': String(SECONDS + 2 * HOUR), '5h-status': 'allowed' };

describe('the windows of a Claude login', () => {
  test('are read with their reset and status, those of models apart', () => {
    const reading = claude({
      status: 'allowed_warning',
      'representative-claim': 'seven_day',
      ...FIVE,
      '7d-utilization': '0.82',
      '7d-reset': String(SECONDS + 80 * HOUR),
      '7d-status': 'allowed_warning',
      '7d-surpassed-threshold': '0.75',
      '7d_opus-utilization': '1',
      '7d_opus-reset': String(SECONDS + 80 * HOUR),
      'overage-status': 'rejected',
      'overage-reset': String(SECONDS + 80 * HOUR),
      'overage-disabled-reason': 'out_of_credits',
    });
    const resetsAt = NOW + 80 * 3_600_000;
    expect(reading).toEqual({
      windows: [
        { window: '5h', model: '', usedPpm: 310_000, resetsAt: NOW + 7_200_000, status: 'allowed' },
        { window: '7d', model: '', usedPpm: 820_000, resetsAt, status: 'allowed_warning' },
        { window: '7d', model: 'opus', usedPpm: 1_000_000, resetsAt, status: 'rejected' },
      ],
      odd: [],
      isBeyondPlan: false,
    });
  });

  test('are billed beyond the plan once it is used up and overage is allowed', () => {
    expect(claude({ ...FIVE, status: 'rejected', 'overage-status': 'allowed' }).isBeyondPlan).toBe(true);
    expect(claude({ ...FIVE, status: 'allowed', 'overage-status': 'allowed' }).isBeyondPlan).toBe(false);
    expect(claude({ ...FIVE, status: 'rejected', 'overage-status': 'rejected' }).isBeyondPlan).toBe(false);
  });

  test.each([
    ['missing', { '5h-utilization': undefined }],
    ['is not a number', { '5h-utilization': 'much' }],
    ['is below 0', { '5h-utilization': '-0.1' }],
    ['is above 1', { '5h-utilization': '1.02' }],
    ['has no time of its reset', { '5h-reset': undefined }],
    ['has a reset in the past', { '5h-reset': String(SECONDS - HOUR) }],
    ['has a reset more than 5h ahead', { '5h-reset': String(SECONDS + 6 * HOUR) }],
    ["came 60 minutes behind this machine's clock", { date: new Date(NOW - 3_600_000).toUTCString() }],
  ])('that say %s are odd, and used for nothing', (problem, change) => {
    const stated = Object.entries({ ...FIVE, ...change }).filter(([, value]) => value !== undefined);
    expect(claude(Object.fromEntries(stated) as Record<string, string>)).toEqual({
      windows: [],
      odd: [{ header: 'anthropic-ratelimit-unified-5h-utilization', problem }],
      isBeyondPlan: false,
    });
  });

  test('of unknown names are odd', () => {
    const { windows, odd } = claude({ 'lunar-utilization': '0.5', 'lunar-reset': String(SECONDS + HOUR) });
    expect(windows).toEqual([]);
    expect(odd).toEqual([
      {
        header: 'anthropic-ratelimit-unified-lunar-utilization',
        problem: 'names a window that gw does not know',
      },
    ]);
  });
});

describe('the windows of a ChatGPT login', () => {
  test('are named by their minutes; those of models have a name of their own', () => {
    const { windows, odd } = chatgpt({
      'plan-type': 'pro',
      'primary-used-percent': '12',
      'primary-window-minutes': '299',
      'primary-reset-at': String(SECONDS + HOUR),
      'secondary-used-percent': '40.5',
      'secondary-window-minutes': '10080',
      'secondary-reset-after-seconds': String(100 * HOUR),
      'primary-over-secondary-limit-percent': '20',
      'spark-primary-used-percent': '7',
      'spark-primary-window-minutes': '300',
      'spark-primary-reset-at': String(SECONDS + HOUR),
      'spark-limit-name': 'GPT-5.3-Codex-Spark',
    });
    expect(odd).toEqual([]);
    expect(
      windows.map(({ window, model, usedPpm, resetsAt }) => [window, model, usedPpm, resetsAt - NOW]),
    ).toEqual([
      ['5h', '', 120_000, 3_600_000],
      ['7d', '', 405_000, 360_000_000],
      ['5h', 'GPT-5.3-Codex-Spark', 70_000, 3_600_000],
    ]);
  });

  test('may be one alone: the other has zeros', () => {
    const { windows, odd } = chatgpt({
      'primary-used-percent': '100',
      'primary-window-minutes': '10080',
      'primary-reset-at': String(SECONDS + HOUR),
      'secondary-used-percent': '0',
      'secondary-window-minutes': '0',
      'credits-has-credits': 'False',
    });
    expect([windows.map(({ window, status }) => [window, status]), odd]).toEqual([[['7d', 'rejected']], []]);
  });

  test('are billed from credits once a window is full and there are some', () => {
    const full = {
      'primary-used-percent': '100',
      'primary-window-minutes': '300',
      'primary-reset-at': String(SECONDS + HOUR),
    };
    expect(chatgpt({ ...full, 'credits-has-credits': 'True' }).isBeyondPlan).toBe(true);
    expect(
      chatgpt({ ...full, 'primary-used-percent': '99', 'credits-has-credits': 'True' }).isBeyondPlan,
    ).toBe(false);
    expect(chatgpt(full).isBeyondPlan).toBe(false);
  });
});

test('whatever the headers are, windows are shares with a reset that can be, and what is odd is bounded', () => {
  const word = fc.oneof(
    fc.constantFrom('5h', '7d', '7d_opus', 'primary', 'secondary', 'x-primary', '__proto__', 'overage', ''),
    fc.string({ maxLength: 12 }),
  );
  const end = fc.constantFrom('utilization', 'reset', 'status', 'used-percent', 'window-minutes', 'reset-at');
  const value = fc.oneof(
    fc.double().map(String),
    fc.integer().map(String),
    fc.string(),
    fc.constant(String(SECONDS + HOUR)),
  );
  const prefix = fc.constantFrom('anthropic-ratelimit-unified-', 'x-codex-');
  const header = fc.tuple(prefix, word, end, value).map(([a, b, c, text]) => [`${a}${b}-${c}`, text]);
  fc.assert(
    fc.property(
      fc.array(header, { maxLength: 20 }),
      fc.constantFrom('claude' as const, 'chatgpt' as const),
      (all, login) => {
        const { windows, odd } = readPlanWindows(login, all.flat(), NOW);
        expect(odd.length).toBeLessThanOrEqual(8);
        for (const { usedPpm, resetsAt } of windows) {
          expect(Number.isInteger(usedPpm) && usedPpm >= 0 && usedPpm <= 1_000_000).toBe(true);
          expect(Number.isInteger(resetsAt) && resetsAt > NOW - HOUR * 1_000).toBe(true);
        }
      },
    ),
  );
});
