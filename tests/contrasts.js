// WCAG 2.2, 1.4.3: (L1 + 0.05) / (L2 + 0.05) of the relative luminances of each text and of what is behind it.
() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = (color) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const fill = (element) => {
    // A box of a picture lies behind texts whose middle is in it; the last one is on top.
    const {left, right, top, bottom} = element.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const rects = [...element.parentElement.querySelectorAll(":scope > rect")].filter((rect) => {
      const box = rect.getBoundingClientRect();
      return box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
    });
    return rects.length ? rgba(getComputedStyle(rects.at(-1)).fill) : null;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    const below = layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
    const box = element.namespaceURI.endsWith("svg") ? fill(element) : null;
    return box ? over(box, below) : below;
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (element.tagName === "title" || !walker.currentNode.data.trim()) continue;
    if (!element.checkVisibility({visibilityProperty: true})) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const ink = over(rgba(element.namespaceURI.endsWith("svg") ? style.fill : style.color), back);
    const [one, other] = [luminance(ink), luminance(back)];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const key = `${element.tagName}.${element.getAttribute("class") ?? ""} ${ink} on ${back}`;
    if (!found.has(key)) found.set(key, ratio);
  }
  return [...found];
}
