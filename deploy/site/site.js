// Search and the menu of small screens. The index is a script beside the pages, loaded when somebody searches.
(() => {
  'use strict';
  const up = document.documentElement.dataset.up;
  const field = document.getElementById('search');
  const found = document.getElementById('found');
  const menu = document.getElementById('menu');
  const contents = document.getElementById('contents');

  menu.addEventListener('click', () => {
    menu.setAttribute('aria-expanded', contents.classList.toggle('open'));
  });

  let loading;
  const load = () => loading ??= new Promise((done) => {
    const script = document.createElement('script');
    script.src = up + 'search.js';
    script.onload = () => done(window.sections);
    document.head.append(script);
  });

  // score is 0 for a section that lacks a word. Words in headings count most.
  const score = (s, words) => {
    let sum = 0;
    for (const w of words) {
      const n = (s.heading.toLowerCase().includes(w) ? 20 : 0) + (s.page.toLowerCase().includes(w) ? 5 : 0)
        + Math.min(4, s.text.toLowerCase().split(w).length - 1);
      if (n === 0) return 0;
      sum += n;
    }
    return sum;
  };

  // snippet returns the text around the first word, with all words marked.
  const snippet = (text, words) => {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 60);
    const part = (at > 0 ? '…' : '') + text.slice(at, at + 180) + (at + 180 < text.length ? '…' : '');
    const small = document.createElement('small');
    const pattern = words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
    part.split(new RegExp(`(${pattern})`, 'i')).forEach((piece, i) => {
      const node = i % 2 ? document.createElement('mark') : document.createTextNode('');
      node.textContent = piece;
      small.append(node);
    });
    return small;
  };

  const search = async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.hidden = words.length === 0;
    if (found.hidden) return;
    const sections = await load();
    const best = sections.map((s) => [score(s, words), s]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]).slice(0, 20);
    const list = document.createElement('ol');
    for (const [, s] of best) {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = up + s.out;
      link.textContent = s.heading === s.page ? s.page : `${s.page}: ${s.heading}`;
      link.append(snippet(s.text, words));
      item.append(link);
      list.append(item);
    }
    found.replaceChildren(best.length > 0 ? list : 'Nothing found.');
  };

  field.addEventListener('input', search);
  found.addEventListener('click', (e) => {
    if (e.target.closest('a')) {
      found.hidden = true;
      field.value = '';
    }
  });
  document.addEventListener('keydown', (e) => {
    if (e.key === '/' && document.activeElement !== field) {
      e.preventDefault();
      field.focus();
    }
    if (e.key === 'Escape') {
      found.hidden = true;
      field.value = '';
      field.blur();
    }
    if (e.key === 'Enter' && document.activeElement === field) found.querySelector('a')?.click();
  });
})();
