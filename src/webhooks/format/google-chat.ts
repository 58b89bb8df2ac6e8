import type { ChatMessage } from './message.ts';

/** Google Chat (https://developers.google.com/workspace/chat/api/reference/rest/v1/cards); its widgets render HTML. */
export function formatGoogleChat(message: ChatMessage): object {
  const facts = message.facts.map(({ label, value }) => ({
    decoratedText: { topLabel: label, text: escapeHtml(value), wrapText: true },
  }));
  const command =
    message.command === undefined
      ? []
      : [{ decoratedText: { topLabel: 'Command', text: escapeHtml(message.command), wrapText: true } }];
  return {
    cardsV2: [
      {
        cardId: 'gw',
        card: { header: { title: message.title }, sections: [{ widgets: [...facts, ...command] }] },
      },
    ],
  };
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
