import type { ChatMessage } from './message.ts';

/**
 * Slack (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). Rich text elements are literal,
 * without markup or mentions. Only `text`, which notifications show, needs escaping.
 */
export function formatSlack(message: ChatMessage): object {
  const lines = message.facts.flatMap(({ label, value }, i) => [
    { type: 'text', text: `${i > 0 ? '\n' : ''}${label}: `, style: { bold: true } },
    { type: 'text', text: value },
  ]);
  const command =
    message.command === undefined
      ? []
      : [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: message.command }] }];
  return {
    text: escapeSlack([message.title, ...message.facts.map(({ value }) => value)].join(' | ')),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: message.title } },
      { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: lines }, ...command] },
    ],
  };
}

function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
