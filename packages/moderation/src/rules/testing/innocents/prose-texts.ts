import type { Draw } from "../draw.ts";
import { type InnocentSort, padded } from "./innocent.ts";

/**
 * Sentences of several languages. `#` is replaced by a digit, `##` by a number of two, `Y` by a year, `H` by a time of day; the first
 * digit of a number is never 0.
 */
const SENTENCES: Readonly<Record<string, readonly string[]>> = {
  English: [
    "The ferry leaves at H and takes ## minutes, unless the wind is against it.",
    "In Y the bridge carried ##,### cars a day; it was built for a tenth of that.",
    "I know that you asked for the short version: boil, stir, wait ## minutes, serve.",
    "She has lived at number ## since Y, and the roof has leaked for all of that time.",
    "Mix 2## g of flour with 1## ml of milk, add 3 eggs, and bake it at 180 °C for ## minutes.",
    'My e-mail client says "user @ host" is not an address, and it\'s right.',
    "Chapter ## covers pages 1## to 2##; skip it if you have read the first one.",
    "Call me old-fashioned, but a card is what I send people on their birthdays.",
    "The password is to be changed every ## days, and nobody does it.",
    "At 5-3 and 40-15 she served two aces and won 6-3, 7-5 after ## minutes.",
    "The match ended 3-1; the next are on 12/5, 19/5 and 26/5, all at H.",
    "Their key argument is that tokens are cheap, which was true in Y.",
  ],
  German: [
    "Der Zug um H fällt aus, der nächste kommt in ## Minuten.",
    "Seit Y sind die Mieten um ##,# Prozent gestiegen, in der Stadt um mehr als das Doppelte.",
    "Die Anlage liefert 1.### Kilowattstunden im Jahr und kostet rund ##.### Euro.",
    "Nach § 1## Abs. 2 Satz 1 gilt das auch für Verträge aus dem Jahr Y.",
    "Man nehme 2## g Mehl, ## g Butter und eine Prise Salz; bei 180 Grad ## Minuten backen.",
    "Es waren ### Gäste da, ## mehr als im Vorjahr, und das Bier reichte bis H Uhr.",
  ],
  French: [
    "Le train de H est annulé ; le suivant part dans ## minutes.",
    "En Y, la ville comptait ### ### habitants, soit ##,# % de plus qu'en 1999.",
    "La recette : 2## g de farine, ## g de beurre, 3 œufs et ## minutes de cuisson.",
    "L'article L. ###-## du code prévoit un délai de ## jours.",
    "Les tomes 01, 02 et 03 sont parus en Y, les autres plus tard.",
    "Il fait ## °C à l'ombre, et la piscine ouvre à H.",
  ],
  Spanish: [
    "El tren de las H llega con ## minutos de retraso.",
    "En Y se vendieron ##.### entradas, un ##,# % más que el año anterior.",
    "Se necesitan 2## g de arroz, ## ml de aceite y 4 dientes de ajo.",
    "El artículo ## de la ley establece un plazo de ## días.",
    "¿Quién dijo que el capítulo ## era aburrido?",
  ],
  Italian: [
    "Il treno delle H parte dal binario ## con ## minuti di ritardo.",
    "Nel Y la popolazione era di ##.### abitanti.",
    "Servono 2## g di farina, ## g di zucchero e 3 uova; cuocere per ## minuti.",
    "L'art. ##, comma 2, non si applica ai contratti del Y.",
  ],
  Portuguese: [
    "O comboio das H chega com ## minutos de atraso.",
    "Em Y, a cidade tinha ##.### habitantes e ## escolas.",
    "Junte 2## g de açúcar e ## ml de leite; leve ao forno por ## minutos.",
    "O artigo ## da lei prevê um prazo de ## dias úteis.",
  ],
  Dutch: [
    "De trein van H rijdt niet; de volgende komt over ## minuten.",
    "In Y telde de stad ##.### inwoners, ##,# procent meer dan daarvoor.",
    "Neem 2## gram meel en ## gram boter en bak het ## minuten.",
  ],
  Polish: [
    "Pociąg o H jest opóźniony o ## minut.",
    "W roku Y miasto liczyło ## ### mieszkańców.",
    "Potrzeba 2## g mąki, ## g masła i 3 jajek; piec ## minut.",
  ],
  Turkish: [
    "Saat H treni ## dakika gecikmeli.",
    "Y yılında şehrin nüfusu ##.### idi.",
    "2## g un ve ## ml süt ekleyip ## dakika pişirin.",
  ],
  Russian: [
    "Поезд в H опаздывает на ## минут.",
    "В Y году в городе жило ## ### человек, на ##,# % больше.",
    "Возьмите 2## г муки, ## г масла и выпекайте ## минут.",
    "Дом № ## построен в Y году, а № ## ещё раньше.",
  ],
  Greek: ["Το τρένο των H έχει καθυστέρηση ## λεπτά.", "Το Y η πόλη είχε ##.### κατοίκους."],
  Chinese: [
    "H的火车晚点##分钟。",
    "Y年这座城市有##万人口，比前一年多##%。",
    "加入2##克面粉和##毫升牛奶，烤##分钟。",
    "第##章在第1##页到第2##页之间。",
  ],
  Japanese: [
    "Hの電車は##分遅れています。",
    "Y年の人口は##,###人でした。",
    "小麦粉2##gと牛乳##mlを混ぜ、##分焼きます。",
  ],
  Arabic: ["القطار الساعة H متأخر ## دقيقة.", "في عام Y كان عدد السكان ##,###."],
  Hebrew: ["הרכבת של H מאחרת ב-## דקות.", "בשנת Y גרו בעיר ##,### תושבים."],
  Hindi: ["H की ट्रेन ## मिनट देर से है।", "Y में शहर की आबादी ##,### थी।"],
};

const MARKDOWN = [
  (first: string, second: string) => `## 1. Overview\n\n${first}\n\n* ${second}\n* _${first}_\n`,
  (first: string, second: string) => `> ${first}\n>\n> ${second}\n\n---\n\n1. **${second}**\n2. ${first}\n`,
  (first: string, second: string) => `${first}[^1] ${second}¹\n\n[^1]: ${first}\n`,
  (first: string, second: string) => `| a | b |\n|--:|:--|\n| 12 | ${first} |\n| 7 | ${second} |\n`,
];

export const PROSE_TEXTS: readonly InnocentSort[] = [
  ...Object.entries(SENTENCES).map(([language, sentences]) => ({
    name: `prose, ${language}`,
    make: (draw: Draw) =>
      draw
        .many(draw.number(2, 4), () => filled(draw.one(sentences), draw))
        .join(language === "Chinese" || language === "Japanese" ? "" : " "),
  })),
  {
    name: "Markdown",
    make: (draw) => {
      const [first, second] = draw.many(2, () => filled(draw.one(SENTENCES["English"] ?? []), draw));
      return draw.one(MARKDOWN)(first as string, second as string);
    },
  },
];

function filled(sentence: string, draw: Draw): string {
  return sentence
    .replaceAll(/\bY|Y(?=年)/g, () => String(draw.number(1_900, 2_030)))
    .replaceAll("H", () => `${draw.number(0, 23)}:${padded(draw.number(0, 59), 2)}`)
    .replaceAll(/(?<![\d#,.])#/g, () => String(draw.number(1, 9)))
    .replaceAll("#", () => String(draw.number(0, 9)));
}
