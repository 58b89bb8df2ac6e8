import type { WebhookHealth } from '../../store/dashboard/webhook-health.ts';
import { pasteable } from '../../terminal/command-names.ts';
import { type Look, MARKS, styleOf } from '../../terminal/look.ts';
import { plural } from '../../terminal/numbers.ts';
import { lineOf, textLine } from '../../terminal/styled-lines.ts';
import { widthOf } from '../../terminal/text.ts';
import { topFor } from '../state/selection.ts';
import { type Area, section } from './lines.ts';

interface WebhooksProps extends Area {
  webhooks: readonly WebhookHealth[];
  selected: number | null;
  focused: boolean;
  now: number;
}

/** The webhooks and the state of their deliveries. */
export function drawWebhooks({ webhooks, selected, focused, now, ...area }: WebhooksProps): string[] {
  const { width, height, look } = area;
  const rows = height - 1;
  const top = topFor(
    webhooks.findIndex(({ id }) => id === selected),
    rows,
    webhooks.length,
  );
  const longest = Math.max(12, ...webhooks.map((webhook) => widthOf(nameOf(webhook))));
  const name = Math.min(longest, Math.floor(width * 0.45));
  const lines = webhooks.slice(top, top + rows).map((webhook) => {
    const mark = markOf(webhook);
    return lineOf(
      [
        { text: `${webhook.id === selected ? '>' : ' '}${mark}`, width: 2, style: styleOf(mark, look) },
        { text: nameOf(webhook), width: name },
        { text: stateText(webhook, now, look), width: width - name - 4, style: styleOf(mark, look) },
      ],
      look,
    );
  });
  const none = [textLine(pasteable('   none: gw webhooks add URL', look.gw), width, look, look.palette.dim)];
  return section({ ...area, title: 'WEBHOOKS', focused, lines: lines.length > 0 ? lines : none });
}

const nameOf = ({ id, project, host }: WebhookHealth): string => `wh_${id} ${project} ${host}`;

function markOf({ disabledReason, failed, open, attempts }: WebhookHealth): string {
  if (disabledReason !== null) return MARKS.bad;
  return failed > 0 || (open > 0 && attempts > 0) ? MARKS.warn : MARKS.none;
}

function stateText(webhook: WebhookHealth, now: number, { times }: Look): string {
  const { disabledReason, failed, open, dueAt, attempts, attemptedAt, status, error } = webhook;
  const parts = [
    disabledReason === null ? '' : `off: ${disabledReason}`,
    failed > 0 ? `${failed} failed` : '',
    (failed > 0 || attempts > 0) && attemptedAt !== null ? answerText(status, error) : '',
    open > 0 && dueAt !== null
      ? `${plural(open, 'delivery').replace('ys', 'ies')} waiting, next ${times.time(dueAt).slice(0, 8)}`
      : '',
  ].filter(Boolean);
  if (parts.length > 0) return parts.join('  ');
  return attemptedAt === null ? 'nothing sent yet' : `ok ${times.moment(attemptedAt, now)}`;
}

function answerText(status: number | null, error: string | null): string {
  return error ?? (status === null ? 'no answer' : `HTTP ${status}`);
}
