import { textLine } from '../../terminal/styled-lines.ts';
import { pad } from '../../terminal/text.ts';
import { type Area, section } from './lines.ts';

interface HelpProps extends Area {
  readonly: boolean;
}

type Keys = readonly [task: string, key: string, effect: string][];

const KEYS: Keys = [
  ['go', '1 2 3, tab', 'budgets, requests, webhooks; every panel in turn'],
  ['', 'j k g G', 'move in the panel; a selected request holds the feed'],
  ['', 'enter', 'open: sessions of a budget, detail of a request, replay a webhook'],
  ['', 'd', 'sessions of the selected budget, from any panel'],
  ['', 'esc', 'back, a step at a time: detail, search, session, zoom, selection'],
  ['look', 'z', 'the panel on the whole screen, and back'],
  ['', 'w m', 'window: hour, day, month; chart by model or agent'],
  ['', '/ o', 'search in every panel; order by the next column'],
  ['', 'f', 'requests: all, blocked, failed, unpriced'],
  ['', 't p', 'the team; pause the display'],
  ['', 'y', 'copy the id of the selected row'],
];

const ACTIONS: Keys = [
  ['change', 'b a', 'raise the selected budget; answer a request that waits'],
  ['', 'n x', 'create a key, shown once; revoke a key'],
  ['', 's S', 'pause a project; stop everything and cut what runs'],
  ['', 'r', 'replay the failed deliveries of a webhook'],
  ['', ':', 'any gw command, such as usage -g model; tab completes'],
];

const MOUSE: Keys = [
  ['mouse', 'click, wheel', 'select, again: open; scroll (gw config set dashboard.mouse off)'],
];

export function drawHelp({ readonly, ...area }: HelpProps): string[] {
  const { width, look } = area;
  const keys = [...KEYS, ...(readonly ? [] : ACTIONS), ...MOUSE];
  const lines = [
    ...keys.map(([task, key, effect]) => textLine(` ${pad(task, 7)}${pad(key, 13)}${effect}`, width, look)),
    textLine(' X full, blocked or off   ! near the cap, failed   ~ estimated', width, look),
    textLine(' p95: 19 of 20 of the last 500 requests were faster', width, look),
    textLine(' any key closes this; q quits', width, look, look.palette.dim),
  ];
  return section({ ...area, title: 'KEYS', lines });
}
