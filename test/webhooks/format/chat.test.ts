import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import type { WebhookEvent } from '../../../src/webhooks/event-body.ts';
import { CHAT_FORMATS } from '../../../src/webhooks/format/chat.ts';
import { describe as describeEvent, plainText } from '../../../src/webhooks/format/message.ts';

const PARIS = createCalendar('Europe/Paris');
const AT = Date.UTC(2026, 4, 12, 11, 40);
const STANDING = {
  budget_id: 'web/daily',
  period: 'daily',
  held_usd: 0.01,
  cap_usd: 20,
  alert_percent: 80,
  resets_at: '2026-05-12T22:00:00.000Z',
};
const BLOCKED = {
  budget_id: 'web/monthly',
  request_id: 'req_0a1b2c3d4e5',
  model: 'openai/gpt-4.1-mini',
  estimated_cost_usd: 0.02,
  remaining_usd: 0,
  cap_usd: 50,
  spent_usd: 50,
};
const EVENTS: Record<
  string,
  { data: Record<string, unknown>; told?: { eventCount: number; since: number } }
> = {
  'budget.threshold_reached': { data: { ...STANDING, spent_usd: 16.2 } },
  'budget.exceeded': { data: { ...STANDING, spent_usd: 20.000000001 } },
  'budget.reset': {
    data: { ...STANDING, spent_usd: 18.5, skipped: 0, period_start: '2026-05-11T22:00:00.000Z' },
  },
  'request.blocked': { data: BLOCKED, told: { eventCount: 24, since: AT } },
};
const SERVICES = Object.keys(CHAT_FORMATS) as (keyof typeof CHAT_FORMATS)[];
type Service = (typeof SERVICES)[number];

function payload(service: Service, type: string, changes: { project?: string; data?: object } = {}): object {
  const { data = {}, told = {} } = EVENTS[type] ?? {};
  const event: WebhookEvent = {
    id: 'evt_00112233445566778899aabbccddeeff',
    type,
    createdAt: AT,
    project: changes.project ?? 'web',
    data: JSON.stringify({ ...data, ...changes.data }),
  };
  return CHAT_FORMATS[service](describeEvent(event, { calendar: PARIS, ...told }));
}

/** Every text in a payload, with the names of the fields that lead to it. */
function textsIn(value: unknown, path = ''): { path: string; text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, `${path}.${key}`));
}

describe.each(SERVICES)('a message to %s', (service) => {
  it.each(Object.keys(EVENTS))('of %s is the one that was looked at', async (type) => {
    const text = `${JSON.stringify(payload(service, type), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(`golden/${service}.${type}.json`);
  });

  it('says the project, spent of cap with a bar, when it resets, and what to type', () => {
    const all = textsIn(payload(service, 'budget.threshold_reached'))
      .map(({ text }) => text)
      .join('\n');
    for (const part of [
      'web',
      '$16.20 of $20.00',
      '████████░░ 81 %',
      'daily',
      '2026-05-13 00:00 (Europe/Paris)',
    ]) {
      expect(all).toContain(part);
    }
    expect(all).toContain('gw budget set 40 -p web --period daily');
  });

  it('says how the cap of a team is raised', () => {
    const told = (project: string) =>
      JSON.stringify(payload(service, 'budget.exceeded', { project, data: { team: 'acme' } }));
    expect(told('web')).toContain('gw team budgets set 40 -p web --period daily');
    expect(told('')).toContain('gw team budgets set 40 --period daily');
  });

  it('marks a test as one', () => {
    expect(JSON.stringify(payload(service, 'budget.exceeded', { data: { test: true } }))).toContain(
      'Test: Budget used up',
    );
  });

  it('stays within the limits of the service, and inert, whatever the names', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(EVENTS)),
        hostileName,
        hostileName,
        hostileName,
        (type, project, model, budget) => {
          const message = payload(service, type, {
            project,
            data: { model, budget_id: budget, period: budget },
          });
          expectWithinLimits(service, message);
          expectInert(service, message);
        },
      ),
      { numRuns: 300, seed: 4 },
    );
  });
});

/** Pieces that mean something to one of the services, or to a terminal. */
const PIECES = [
  '@channel',
  '@everyone',
  '@here',
  '@all',
  '<!channel>',
  '<!here|here>',
  '<!subteam^S012>',
  '<@U012AB3CD>',
  '<#C012|general>',
  '<@&123456789012345678>',
  '<users/all>',
  '<at>Ann</at>',
  '~town-square',
  '#general',
  '*bold*',
  '_italic_',
  '~strike~',
  '**bold**',
  '`code`',
  '```',
  '||spoiler||',
  '> quote',
  '# heading',
  '- item',
  '[a](https://evil.example)',
  '<https://evil.example|click>',
  '<a href="https://evil.example">a</a>',
  '<b>',
  '&lt;',
  '&amp;',
  '\\',
  '\n',
  '\r\n',
  '\u2028',
  '\t',
  '\u0000',
  '\u001b[31m',
  '\u202eesrever',
  '\u2066',
  '\u200b',
  '\ud800',
  'שלום',
  'مرحبا',
  '👩‍👩‍👧‍👦',
  '🇪🇺',
  'é',
  '漢字',
  'x'.repeat(10_000),
  '@here '.repeat(2_000),
  '`'.repeat(5_000),
  '😀'.repeat(3_000),
  '&'.repeat(10_000),
];
const hostileName = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary', maxLength: 20 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.join(''));

const lengthOf = (message: object) => Buffer.byteLength(JSON.stringify(message));

function expectWithinLimits(service: Service, message: object): void {
  const texts = textsIn(message);
  const longest = (pattern: RegExp) =>
    Math.max(0, ...texts.filter(({ path }) => pattern.test(path)).map(({ text }) => text.length));
  expect(texts.every(({ text }) => text.length > 0)).toBe(true);
  switch (service) {
    case 'slack':
      expect(longest(/blocks\.0\.text\.text$/)).toBeLessThanOrEqual(150);
      expect(longest(/./)).toBeLessThanOrEqual(3_000);
      expect((message as { blocks: object[] }).blocks.length).toBeLessThanOrEqual(50);
      break;
    case 'discord':
      expect(longest(/title$/)).toBeLessThanOrEqual(256);
      expect(longest(/fields\.\d+\.name$/)).toBeLessThanOrEqual(256);
      expect(longest(/fields\.\d+\.value$/)).toBeLessThanOrEqual(1_024);
      expect(texts.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(6_000);
      break;
    case 'teams':
      expect(lengthOf(message)).toBeLessThanOrEqual(28_000);
      break;
    case 'google-chat':
      expect(lengthOf(message)).toBeLessThanOrEqual(32_000);
      break;
    case 'mattermost':
      expect(JSON.stringify(message).length).toBeLessThanOrEqual(16_383);
      break;
    case 'ntfy':
      // A longer message becomes an attachment.
      expect(Buffer.byteLength((message as { message: string }).message)).toBeLessThanOrEqual(4_096);
      expect(longest(/title$/)).toBeLessThanOrEqual(250);
  }
}

function expectInert(service: Service, message: object): void {
  for (const { path, text } of textsIn(message)) {
    // Nobody can be called, nothing can steer a line, and no half characters are sent.
    expect(text).not.toMatch(/@(?!\u200b)/);
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/u);
    expect(text).not.toMatch(/\p{Cs}/u);
    if (service === 'slack' && path === '.text') expect(text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
    if (service === 'google-chat') expect(text).not.toMatch(/[<>"']|&(?!amp;|lt;|gt;|quot;|#39;)/);
  }
  if (service === 'discord') expect(message).toMatchObject({ allowed_mentions: { parse: [] } });
  if (service === 'discord' || service === 'mattermost') expectInCode(message);
  if (service === 'slack') expectNoMarkdown(message, 'mrkdwn');
  if (service === 'teams') expectTextRuns(message);
}

/** In Markdown, what is not ours is inside of code, and nothing in it ends the code. */
function expectInCode(message: object): void {
  for (const { path, text } of textsIn(message)) {
    const block = /^```\n([^`]*)\n```$/.exec(text);
    const span = /^`[^`]*`$/.test(text);
    const ours = /^[\w .,:%$█░()/*-]+$/.test(text) || /\.color$/.test(path);
    expect([text, block !== null || span || ours]).toEqual([text, true]);
  }
}

function expectNoMarkdown(message: object, type: string): void {
  expect(textsIn(message).filter(({ path, text }) => path.endsWith('.type') && text === type)).toEqual([]);
}

/** Text blocks read Markdown: there is one, and it is ours. */
function expectTextRuns(message: object): void {
  const { body } = (message as { attachments: { content: { body: { type: string; text?: string }[] } }[] })
    .attachments[0]?.content ?? { body: [] };
  const blocks = body.filter(({ type }) => type === 'TextBlock');
  expect(blocks).toHaveLength(1);
  expect(blocks[0]?.text).toMatch(/^[\w .,:%]+$/);
  expect(new Set(body.slice(1).map(({ type }) => type))).toEqual(new Set(['RichTextBlock']));
}

describe('plainText()', () => {
  it.each([
    ['web', 'web'],
    ['  two\nlines\tand a tab ', 'two lines and a tab'],
    ['@here', '@\u200bhere'],
    ['\u202eevil', 'evil'],
    ['👩‍👩‍👧', '👩‍👩‍👧'],
    ['', '-'],
    ['\u0000\u0001', '-'],
    ['a'.repeat(81), `${'a'.repeat(79)}…`],
    ['😀'.repeat(80), '😀'.repeat(80)],
  ])('makes of %j the name %j', (text, expected) => {
    expect(plainText(text)).toBe(expected);
  });
});
