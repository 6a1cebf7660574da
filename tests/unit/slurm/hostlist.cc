// SPDX-License-Identifier: Apache-2.0
#include "lib/slurm/hostlist.h"

#include "lib/base/text.h"
#include "tests/unit/expect_text.h"

#include <random>

#include <stdio.h>

using namespace distinit;

namespace {

/// The names with blanks between, or "error: …".
std::string expanded(std::string_view text) {
  const auto names = expand_hostlist(text);
  return names ? join(*names, " ") : "error: " + names.error().what;
}

/// What Slurm does, the plain way: the last bracket stays, the prefix is expanded from its last
/// bracket inwards by recursion. `texts` is one longer than `brackets`; all numbers are texts.
void reference_expand(const std::vector<std::string>& texts,
                      const std::vector<std::vector<std::string>>& brackets, size_t open,
                      std::vector<std::string>& chosen, std::vector<std::string>& out) {
  if (open > 0) {
    for (const std::string& number : brackets[open - 1]) {
      chosen[open - 1] = number;
      reference_expand(texts, brackets, open - 1, chosen, out);
    }
    return;
  }
  for (const std::string& number : brackets.back()) {
    chosen.back() = number;
    std::string name = texts[0];
    for (size_t i = 0; i < chosen.size(); ++i) {
      name += chosen[i] + texts[i + 1];
    }
    out.push_back(name);
  }
}

class RandomExpression {
 public:
  explicit RandomExpression(unsigned seed) : random_(seed) {}

  /// An expression of one item; its names are appended to `names`.
  std::string item(std::vector<std::string>& names) {
    const int count = pick(0, 4);
    std::vector<std::string> texts{pick_text()};
    std::vector<std::vector<std::string>> brackets;
    std::string expression = texts[0];
    for (int i = 0; i < count; ++i) {
      brackets.emplace_back();
      expression += "[" + bracket(brackets.back()) + "]";
      texts.push_back(pick_text());
      expression += texts.back();
    }
    if (count == 0) {
      names.push_back(texts[0] + "7");
      return expression + "7";
    }
    std::vector<std::string> chosen(brackets.size());
    reference_expand(texts, brackets, brackets.size() - 1, chosen, names);
    return expression;
  }

  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }

 private:
  std::string pick_text() {
    static const char* const kTexts[] = {"", "n", "-ib", "10.0.", "a1b", "gpu-a05-"};
    return kTexts[pick(0, 5)];
  }

  std::string bracket(std::vector<std::string>& numbers) {
    std::vector<std::string> ranges;
    for (int i = pick(1, 3); i > 0; --i) {
      const int low = pick(0, 120);
      const int high = low + pick(0, 4);
      const int width = pick(0, 4);
      char text[32];
      snprintf(text, sizeof text, "%0*d", width, low);
      ranges.push_back(high == low ? std::string(text) : concat(text, "-", high));
      const int low_width = static_cast<int>(std::string_view(text).size());
      for (int number = low; number <= high; ++number) {
        snprintf(text, sizeof text, "%0*d", low_width, number);
        numbers.emplace_back(text);
      }
    }
    return join(ranges, ",");
  }

  std::mt19937 random_;
};

}  // namespace

Test(hostlist, expands_as_slurm_does) {
  const std::pair<const char*, const char*> rows[] = {
      {"node[001-003,007,010-012]", "node001 node002 node003 node007 node010 node011 node012"},
      {"n[8-10],n[08-10]", "n8 n9 n10 n08 n09 n10"},
      {"n[1,01,001]", "n1 n01 n001"},
      {"h1 h2,h3", "h1 h2 h3"},
      {"n[01-3]", "n01 n02 n03"},
      {"n[1-]", "n1"},
      {"[09-11]", "09 10 11"},
      {"[9-11]", "9 10 11"},
      {"[1-03]", "1 2 3"},
      {"n[3,1,2]", "n3 n1 n2"},
      {"n1,n1", "n1 n1"},
      {"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"},
      {"a,,b", "a b"},
      {"[1-3]", "1 2 3"},
      {"10.0.0.[1-3]", "10.0.0.1 10.0.0.2 10.0.0.3"},
      {"n1-3", "n1-3"},
      {"gpu-a05,n[1-4]", "gpu-a05 n1 n2 n3 n4"},
      {"n[09-10,8]", "n09 n10 n8"},
      {"x,n[1,01,2]", "x n1 n01 n2"},
      {"rack[01-02]-n[1,3]-ib0", "rack01-n1-ib0 rack01-n3-ib0 rack02-n1-ib0 rack02-n3-ib0"},
      {" a\tb\nc, ,d ", "a b c d"},
      {"", ""},
      {",", ""},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_TEXT(expanded(text), expected);
  }
}

Test(hostlist, orders_three_brackets_as_slurm_does) {
  EXPECT_TEXT(expanded("a[1-2]b[3-4]c[5-6]"),
              "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6");
  // The rule carried on to four: the third slowest, then the second, then the first.
  EXPECT_TEXT(expanded("[1-2][3-4][5-6][7-8]"),
              "1357 1358 2357 2358 1457 1458 2457 2458 "
              "1367 1368 2367 2368 1467 1468 2467 2468");
}

Test(hostlist, expands_brackets_suffixes_and_single_names_together) {
  EXPECT_TEXT(expanded("a[01-03,7]b[0-1]-ib,c,d[008-010]"),
              "a01b0-ib a01b1-ib a02b0-ib a02b1-ib a03b0-ib a03b1-ib a7b0-ib a7b1-ib c "
              "d008 d009 d010");
}

Test(hostlist, names_the_piece_that_it_cannot_read) {
  const std::pair<const char*, const char*> rows[] = {
      {"ok,n[3-1]", "error: host list item 'n[3-1]': range '3-1' runs backwards"},
      {"n[-3]", "error: host list item 'n[-3]': range '-3' is not a range of decimal numbers"},
      {"n[a-c]", "error: host list item 'n[a-c]': range 'a-c' is not a range of decimal numbers"},
      {"n[]", "error: host list item 'n[]': range '' is not a range of decimal numbers"},
      {"n[1,]", "error: host list item 'n[1,]': range '' is not a range of decimal numbers"},
      {"n[1, 2]", "error: host list item 'n[1, 2]': range ' 2' is not a range of decimal numbers"},
      {"n[1-2-3]",
       "error: host list item 'n[1-2-3]': range '1-2-3' is not a range of decimal numbers"},
      {"n[0x1-0x3]",
       "error: host list item 'n[0x1-0x3]': range '0x1-0x3' is not a range of decimal numbers"},
      {"n[1-70000]",
       "error: host list item 'n[1-70000]': range '1-70000' has more than 65536 hosts"},
      {"n[1-2]]", "error: host list item 'n[1-2]]': ']' without a '[' before it"},
      {"n[[1-2]]", "error: host list item 'n[[1-2]]': '[' inside brackets"},
      {"n[1-3", "error: host list item 'n[1-3': '[' without a ']' after it"},
      {"a,n[1-3,b", "error: host list item 'n[1-3,b': '[' without a ']' after it"},
      {"feature{gpu}",
       "error: host list item 'feature{gpu}': host list functions with braces are not read"},
      {"n[99999999999999999999]",
       "error: host list item 'n[99999999999999999999]': range '99999999999999999999' is not a "
       "range of decimal numbers"},
  };
  for (const auto& [text, expected] : rows) {
    EXPECT_TEXT(expanded(text), expected);
  }
  const auto box = expand_hostlist("bgl[000x133]");
  cr_assert(!box.has_value());
  cr_assert(box.error().code == ErrorCode::kUsage);
  cr_assert(box.error().hint.find("multi-dimensional") != std::string::npos);
}

Test(hostlist, keeps_its_limits) {
  const auto full = expand_hostlist("n[0-65535]");
  cr_assert(full.has_value());
  cr_assert(full->size() == 65536);
  cr_assert(full->front() == "n0" && full->back() == "n65535");

  const auto most = expand_hostlist("a[0-1023]b[0-1023]");
  cr_assert(most.has_value());
  cr_assert(static_cast<long long>(most->size()) == kMostHosts);
  cr_assert(most->back() == "a1023b1023");
  EXPECT_TEXT(expanded("a[0-1023]b[0-1023],one"),
              "error: host list item 'one': more than 1048576 hosts in one list");
  EXPECT_TEXT(
      expanded("[0-65535][0-65535][0-65535][0-65535][0-65535]"),
      "error: host list item '[0-65535][0-65535][0-65535][0-65535][0-65535]': more than 1048576 "
      "hosts in one list");

  const std::string long_name(kLongestHostName, 'n');
  cr_expect(expanded(long_name) == long_name);
  cr_expect(expanded(long_name + "n").starts_with("error: "));
  cr_expect(expanded("n[" + std::string(300, '0') + "1-2]").starts_with("error: "));
  EXPECT_TEXT(expanded(std::string(kLongestHostlist + 1, ',')),
              "error: host list of 1048577 bytes is longer than 1048576");
}

Test(hostlist, agrees_with_a_plain_reference_on_random_expressions) {
  const unsigned seed = std::random_device{}();
  RandomExpression random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> expected;
    std::string text;
    for (int i = random.pick(1, 3); i > 0; --i) {
      text += (text.empty() ? "" : ",") + random.item(expected);
    }
    const auto names = expand_hostlist(text);
    cr_assert(names.has_value(), "seed %u: %s", seed, text.c_str());
    cr_assert(*names == expected, "seed %u: %s", seed, text.c_str());
    const std::string compressed = compress_hostlist(expected);
    const auto again = expand_hostlist(compressed);
    cr_assert(again.has_value(), "seed %u: %s", seed, compressed.c_str());
    cr_assert(*again == expected, "seed %u: %s", seed, compressed.c_str());
  }
}

Test(hostlist, compresses_neighbours) {
  const std::pair<std::vector<std::string>, const char*> rows[] = {
      {{}, ""},
      {{"n1"}, "n1"},
      {{"n1", "n2", "n3", "n7"}, "n[1-3,7]"},
      {{"a1b3", "a1b4", "a2b3"}, "a1b[3-4],a2b3"},
      {{"node1-ib", "node2-ib"}, "node1-ib,node2-ib"},
      {{"n09", "n10", "n8"}, "n[09-10,8]"},
      {{"n8", "n9", "n10"}, "n[8-10]"},
      {{"n1", "n01", "n2"}, "n[1,01,2]"},
      {{"n3", "n1", "n2"}, "n[3,1-2]"},
      {{"n1", "n1"}, "n[1,1]"},
      {{"n", "n1"}, "n,n1"},
      {{"1", "2"}, "[1-2]"},
      {{"login", "n1", "n2", "m1"}, "login,n[1-2],m1"},
  };
  for (const auto& [names, expected] : rows) {
    EXPECT_TEXT(compress_hostlist(names), expected);
  }
}

Test(hostlist, compresses_what_it_can_expand_again) {
  const auto hosts = expand_hostlist("n[0-65535],n[65536-65540]");
  cr_assert(hosts.has_value());
  const std::string text = compress_hostlist(*hosts);
  EXPECT_TEXT(text, "n[0-65535,65536-65540]");
  cr_assert(*expand_hostlist(text) == *hosts);
  const std::vector<std::string> serials = {"n12345678901234567890", "n12345678901234567891"};
  cr_assert(*expand_hostlist(compress_hostlist(serials)) == serials);
}
