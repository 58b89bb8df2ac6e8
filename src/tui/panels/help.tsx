import { textLine } from '../../terminal/styled-lines.ts';
import { pad } from '../../terminal/text.ts';
import { type Area, Section } from './lines.tsx';

interface HelpProps extends Area {
  readonly: boolean;
}

const KEYS: readonly [string, string][] = [
  ['1 2 3, tab', 'budgets, requests, webhooks'],
  ['j k g G', 'move; a selected request holds the feed'],
  ['enter', 'detail of a request; raise a budget; replay a webhook'],
  ['d', 'sessions of the selected budget; enter: their requests'],
  ['esc', 'back: detail, selection, filter'],
  ['f', 'filter: all, blocked, failed, unpriced'],
  ['/', 'search by model or project'],
  ['w', 'window: hour, day, month'],
  ['t', 'the team: budgets, gateways and models'],
  ['p', 'pause the display'],
  ['c', 'copy the id of the selected row'],
  ['q', 'quit'],
];

const ACTIONS: readonly [string, string][] = [
  ['b', 'raise the selected budget'],
  ['n', 'create a key, shown once'],
  ['x', 'revoke a key'],
  ['s', 'pause or resume a project'],
  ['S', 'stop everything: pause all projects, cut running requests'],
  ['r', 'replay the failed deliveries of a webhook'],
  ['a', 'approve or deny a request that waits for an answer'],
];

export function Help({ readonly, ...area }: HelpProps) {
  const { width, look } = area;
  const keys = readonly ? KEYS : [...KEYS.slice(0, -1), ...ACTIONS, ...KEYS.slice(-1)];
  const lines = [
    ...keys.map(([key, effect]) => textLine(` ${pad(key, 12)}${effect}`, width, look)),
    '',
    textLine(' X full, blocked or off   ! near the cap, failed   ~ estimated', width, look),
    textLine(' p95: 19 of 20 of the last 500 requests were faster', width, look),
    textLine(' any key closes this', width, look, look.palette.dim),
  ];
  return <Section {...area} title="KEYS" lines={lines} />;
}
