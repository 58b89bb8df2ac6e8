import type { ChatMessage } from './message.ts';

const COLORS = { good: 'good', warning: 'warning', danger: 'attention' };

/** Teams: an Adaptive Card. Uses text runs, because text blocks and fact sets interpret Markdown. */
export function formatTeams(message: ChatMessage): object {
  const facts = message.facts.map(({ label, value }) =>
    line([
      { type: 'TextRun', text: `${label}: `, weight: 'bolder' },
      { type: 'TextRun', text: value },
    ]),
  );
  const command =
    message.command === undefined
      ? []
      : [line([{ type: 'TextRun', text: message.command, fontType: 'monospace' }])];
  const title = {
    type: 'TextBlock',
    text: message.title,
    size: 'large',
    weight: 'bolder',
    color: COLORS[message.tone],
    wrap: true,
  };
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [title, ...facts, ...command],
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}

function line(inlines: object[]): object {
  return { type: 'RichTextBlock', inlines };
}
